// How the index asks a member: over the connections that requests use, as a user of its own. Easy to get wrong: it has no rights but those the member
// gives to that name, and callers can never have it (auth/reserved.ts); only with `--identity=self` does the credential speak for itself.
import { GatewayError } from '../../cache/errors.ts';
import type { ClusterRecord, IdentityMode } from '../../cache/records.ts';
import { makeUser } from '../../cache/user.ts';
import { callMember } from '../../routing/member-call.ts';
import { locate, type Connections } from '../../routing/target.ts';
import type { AskMember } from './sync-types.ts';

/** Whom the member sees. */
export const indexUser = makeUser({ name: 'portcullis:index' });

/**
 * Asks one registration of a cluster; the record is read anew for each question, since credentials and addresses change.
 * @param getRecord the record of now; undefined when it is gone
 */
export function makeAskMember(
  getRecord: () => ClusterRecord | undefined,
  connections: Connections,
  identity: IdentityMode,
): AskMember {
  return async ({ path, accept = 'application/json', ifNoneMatch, headTimeoutMs, wholeTimeoutMs, isWatch, signal }) => {
    const record = getRecord();
    if (record === undefined) throw new GatewayError('CLUSTER_NOT_FOUND', 'the cluster is not registered any more');
    const target = await locate(record.spec.name, () => record, connections);
    return await callMember(target, {
      identity: identity === 'self' ? 'self' : indexUser,
      method: 'GET',
      path,
      headers: [
        ...['Accept', accept, 'User-Agent', 'portcullis-index'],
        ...(ifNoneMatch === undefined ? [] : ['If-None-Match', ifNoneMatch]),
      ],
      timeoutMs: headTimeoutMs,
      wholeTimeoutMs,
      longRunning: isWatch ?? false,
      signal,
    });
  };
}
