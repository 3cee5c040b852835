// Requests a token of the gateway's ServiceAccount from the member, decides when it is renewed, and checks that it
// works before it is stored.
import { jsonIn } from '../../lib/json/exact-json.ts';
import { listAt, textAt } from '../../lib/objects/json-object.ts';
import { MemberRefusal } from '../../distribute/member/member-objects.ts';
import { accessKinds } from '../../distribute/member/rbac-kinds.ts';
import { pathOf } from '../../kube/paths.ts';
import { readStatus } from '../../kube/status.ts';
import type { MemberClient } from '../../distribute/member/member-client.ts';
import type { TokenTimes } from '../object/cluster-join.ts';
import { accountName } from './access-objects.ts';
import type { ReachedMember } from './member-session.ts';

/** A token with the times of its life. The token must not be logged. */
export interface IssuedToken {
  readonly token: string;
  readonly times: TokenTimes;
}

const timeoutMs = 15_000;
/** Share of a token's life after which the token is replaced (managed-serviceaccount uses the same). */
const rotateAfter = 0.8;
/**
 * The replacement comes earlier by a random share of the life, at most this one. So the tokens of clusters that joined
 * at the same time are not all replaced at once.
 */
const jitter = 0.05;

/**
 * Requests a token by TokenRequest.
 * @param seconds wanted life of the token; the member may grant another
 * @param timeScale as in {@link timesOf}
 * @throws MemberRefusal with the member's status; GatewayError when no answer came
 */
export async function requestToken(
  client: MemberClient,
  namespace: string,
  seconds: number,
  timeScale: number,
  random: () => number = Math.random,
): Promise<IssuedToken> {
  const path = `${pathOf(accessKinds.ServiceAccount, namespace, accountName)}/token`;
  const spec = { expirationSeconds: seconds };
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  const issuedMs = Date.now();
  const answer = await client.request({ method: 'POST', path, body, timeoutMs });
  const parsed = jsonIn(answer.body);
  const token = textAt(parsed, 'status', 'token');
  const expiresMs = Date.parse(textAt(parsed, 'status', 'expirationTimestamp'));
  if (answer.status !== 201 || token === '' || Number.isNaN(expiresMs)) {
    const { reason, message } = readStatus(answer.body);
    throw new MemberRefusal(answer.status, reason, `the cluster issued no token (${answer.status}): ${message}`);
  }
  return { token, times: timesOf(issuedMs, expiresMs, timeScale, random) };
}

/**
 * Computes when a token is replaced: after 75 to 80 % of its life, by chance. Arguments in Unix milliseconds.
 * @param timeScale factor for the life; below 1 only in tests, which do not wait for the whole life
 */
export function timesOf(issuedMs: number, expiresMs: number, timeScale: number, random: () => number): TokenTimes {
  const life = Math.max(0, expiresMs - issuedMs) * timeScale;
  const rotateMs = issuedMs + life * (rotateAfter - jitter * random());
  return { issuedAt: written(issuedMs), expiresAt: written(expiresMs), rotateAt: written(rotateMs) };
}

/**
 * Checks that the token authenticates as the gateway's ServiceAccount in the member, and that it may impersonate.
 * Resolves with the reason when a check fails, otherwise with undefined.
 */
export async function tokenFault(member: ReachedMember, namespace: string): Promise<string | undefined> {
  const account = `system:serviceaccount:${namespace}:${accountName}`;
  const itself = await userSeen(member.own);
  if (itself.name !== account)
    return `the token answers as ${itself.name || `status ${itself.status}`}, not as ${account}`;
  const probe = await userSeen(member.as('portcullis:probe'));
  if (probe.name === 'portcullis:probe' && probe.groups.includes('system:authenticated')) return undefined;
  return `the token may not impersonate: ${probe.name || `status ${probe.status}`} answered for portcullis:probe`;
}

interface Seen {
  readonly status: number;
  readonly name: string;
  readonly groups: readonly unknown[];
}

async function userSeen(client: MemberClient): Promise<Seen> {
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const answer = await client.request({ method: 'POST', path, body, timeoutMs });
  const parsed = jsonIn(answer.body);
  const user = ['status', 'userInfo'] as const;
  return {
    status: answer.status,
    name: textAt(parsed, ...user, 'username'),
    groups: listAt(parsed, ...user, 'groups'),
  };
}

function written(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
