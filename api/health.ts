// The endpoints /livez, /readyz and /healthz, with answers like kube-apiserver's (apiserver/pkg/server/healthz).
// Callers without authentication see only `ok` or the names of failed checks. A cluster that does not answer never
// makes the gateway unready.
import { GatewayError } from '../model/errors.ts';
import { queryFlag } from '../request/request-info.ts';
import type { Surface } from '../request/routes.ts';
import { textResponse } from '../request/answer/status.ts';
import type { CompleteResponse } from '../request/answer/status.ts';

/**
 * One named check. `fault` returns undefined when all is well, otherwise what is wrong. `note` returns a text that does
 * not make the check fail and that only authenticated callers of `?verbose` see.
 */
export interface HealthCheck {
  readonly name: string;
  /** The endpoints that run the check. /healthz runs the checks of livez. */
  readonly on: readonly ('livez' | 'readyz')[];
  readonly fault: () => string | undefined;
  readonly note?: () => string | undefined;
}

/**
 * True for a plain request to a health endpoint, which needs no authentication. Requests with `?verbose` or for a
 * single check need authentication.
 */
export function isOpenHealth(surface: Surface, query: string): boolean {
  return surface.kind === 'health' && surface.only === undefined && !queryFlag(query, 'verbose');
}

/**
 * Runs the checks of a health endpoint and makes its answer.
 * @throws GatewayError NOT_FOUND for the name of a check that does not exist
 */
export function healthResponse(
  surface: Extract<Surface, { kind: 'health' }>,
  query: string,
  checks: readonly HealthCheck[],
  auditId: string,
): CompleteResponse {
  const path = surface.check === 'healthz' ? 'livez' : surface.check;
  const mine = checks.filter((check) => check.on.includes(path));
  const chosen = surface.only === undefined ? mine : mine.filter((check) => check.name === surface.only);
  if (chosen.length === 0)
    throw new GatewayError('NOT_FOUND', 'there is no check with this name; ?verbose lists all checks');
  const verbose = queryFlag(query, 'verbose');
  const lines: string[] = [];
  let failed = 0;
  for (const check of chosen) {
    const fault = check.fault();
    const note = verbose ? check.note?.() : undefined;
    if (fault !== undefined) {
      failed += 1;
      lines.push(`[-]${check.name} failed: ${verbose ? fault : 'reason withheld'}`);
    } else if (verbose) lines.push(`[+]${check.name} ok${note === undefined ? '' : `: ${note}`}`);
  }
  if (failed > 0) return textResponse(500, `${lines.join('\n')}\n${surface.check} check failed\n`, auditId);
  return textResponse(200, verbose ? `${lines.join('\n')}\n${surface.check} check passed\n` : 'ok', auditId);
}
