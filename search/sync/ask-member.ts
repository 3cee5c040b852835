// How the index asks a member, over the connections that requests use: as a user of its own, or as the gateway itself
// (--index-identity). Rows are decided by the rights of the caller, never by the identity that the index reads with.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterRecord } from '../../cache/model/records.ts';
import { makeUser } from '../../cache/model/user.ts';
import { callMember, type MemberCall } from '../../routing/members/member-call.ts';
import { readAsGateway } from '../../routing/members/read-as-gateway.ts';
import { locate, type Connections, type Target } from '../../routing/members/target.ts';
import type { IndexIdentity } from './index-identity.ts';
import { ownCredential } from './sync-types.ts';
import { type MemberAsks } from './read-as.ts';
import type { AskMember, MemberQuestion } from './sync-types.ts';

/** Whom the member sees. No caller can have that name (auth/callers/reserved.ts). */
export const indexUser = makeUser({ name: 'portcullis:index' });

/**
 * Asks one registration of a cluster; the record is read anew for each question, since credentials and addresses
 * change.
 * @param getRecord the record of now; undefined when it is gone
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
