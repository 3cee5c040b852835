// Sends the index's requests to a member cluster, through the same connections as proxied requests. They run as the
// user `portcullis:index` or with the gateway's own credential (--index-identity). This identity decides what the index
// can collect. What a caller sees is decided by the caller's own rights.
import { GatewayError } from '../model/errors.ts';
import type { ClusterRecord } from '../model/records.ts';
import { makeUser } from '../model/user.ts';
import { callMember, type MemberCall } from '../routing/members/member-call.ts';
import { readAsGateway } from '../routing/members/read-as-gateway.ts';
import { locate, type Connections, type Target } from '../routing/members/target.ts';
import type { IndexIdentity } from './index-identity.ts';
import { ownCredential } from './member/sync-types.ts';
import { type MemberAsks } from './member/read-as.ts';
import type { AskMember, MemberQuestion } from './member/sync-types.ts';

/** The user that the member cluster sees. No caller can have this name (auth/callers/reserved.ts). */
export const indexUser = makeUser({ name: 'portcullis:index' });

/**
 * Makes the functions that send requests to one cluster. They call `getRecord` for each request, since credentials and
 * addresses change.
 * @param getRecord returns the present record, or undefined when the cluster is no longer registered
 */
export function makeAsks(
  getRecord: () => ClusterRecord | undefined,
  connections: Connections,
  identity: IndexIdentity,
): MemberAsks {
  const targetNow = async (): Promise<Target> => {
    const record = getRecord();
    if (record === undefined) throw new GatewayError('CLUSTER_NOT_FOUND', 'the cluster is not registered any more');
    return await locate(record.spec.name, () => record, connections);
  };
  const asIndex: AskMember = async (question) =>
    await callMember(await targetNow(), { ...getOf(question), identity: indexUser, method: 'GET' });
  const asGateway: AskMember = async (question) => await readAsGateway(await targetNow(), getOf(question));
  if (identity === 'self') return { ask: asGateway, as: ownCredential };
  return identity === 'auto' ? { ask: asIndex, askAsGateway: asGateway } : { ask: asIndex };
}

function getOf({
  path,
  accept = 'application/json',
  ifNoneMatch,
  headTimeoutMs,
  wholeTimeoutMs,
  isWatch,
  signal,
}: MemberQuestion): Omit<MemberCall, 'identity' | 'method'> {
  return {
    path,
    headers: [
      ...['Accept', accept, 'User-Agent', 'portcullis-index'],
      ...(ifNoneMatch === undefined ? [] : ['If-None-Match', ifNoneMatch]),
    ],
    timeoutMs: headTimeoutMs,
    wholeTimeoutMs,
    longRunning: isWatch ?? false,
    signal,
  };
}
