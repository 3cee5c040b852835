// One small request of the probe, over the connections that requests use. It passes an open breaker, since its answer
// is what closes the breaker again, and its deadline is for the whole answer.
import type { IdentityMode } from '../../cache/model/records.ts';
import { makeUser } from '../../cache/model/user.ts';
import { callMember, readWhole } from '../../routing/members/member-call.ts';
import type { Target } from '../../routing/members/target.ts';

/** The name probes impersonate; callers may not have it (auth/callers/reserved.ts). */
const probeUser = makeUser({ name: 'portcullis:probe' });
const maxAnswerBytes = 1024 * 1024;

/** A small answer, whole. */
export interface ProbeAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * Sends GET, or POST when there is a body, and collects the answer.
 * @throws GatewayError (rejects) as the transport does, MEMBER_TIMEOUT after `timeoutMs`, MEMBER_BAD_RESPONSE for more
 *   than 1 MiB
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
