// One small request of the health probe, sent over the same connections as requests of callers. It is sent even when
// the circuit breaker of the cluster is open, since its success closes the breaker. Its timeout covers the whole
// answer.
import type { IdentityMode } from '../../model/records.ts';
import { makeUser } from '../../model/user.ts';
import { callMember, readWhole } from '../../routing/members/member-call.ts';
import type { Target } from '../../routing/members/target.ts';

/** The user that probes impersonate. Callers may not have this name (auth/callers/reserved.ts). */
const probeUser = makeUser({ name: 'portcullis:probe' });
const maxAnswerBytes = 1024 * 1024;

/** A complete answer to a probe. */
export interface ProbeAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * Sends a GET, or a POST when there is a body; resolves with the whole answer.
 * @throws GatewayError (rejects) MEMBER_TIMEOUT after `timeoutMs`, MEMBER_BAD_RESPONSE for an answer above 1 MiB, or an
 * error of the connection
 */
export async function ask(
  target: Target,
  identity: IdentityMode,
  path: string,
  timeoutMs: number,
  body?: object,
): Promise<ProbeAnswer> {
  const headers = ['Accept', 'application/json', 'User-Agent', 'portcullis-probe'];
  if (body !== undefined) headers.push('Content-Type', 'application/json');
  const answer = await callMember(target, {
    identity: identity === 'self' ? 'self' : probeUser,
    method: body === undefined ? 'GET' : 'POST',
    path,
    headers,
    body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
    timeoutMs,
    wholeTimeoutMs: timeoutMs,
    longRunning: false,
    isProbe: true,
  });
  return { status: answer.status, body: await readWhole(answer, maxAnswerBytes) };
}
