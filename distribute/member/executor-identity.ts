// As whom the manifests of a work are written: the ServiceAccount of the member that the work names, by impersonation,
// on the same path as requests of clients. Everything that is not surely that ServiceAccount is refused.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterSpec } from '../../cache/model/records.ts';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { makeUser, type User } from '../../cache/model/user.ts';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import { accountUserName, splitAccountName, type AccountName } from '../../auth/callers/reserved.ts';
import type { OutgoingIdentity } from '../../routing/members/member-request.ts';
import { textAt } from '../../controllers/objects.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';

/** As whom works without an executor are written; `gateway` is the gateway's own credential for the cluster. */
export type DefaultExecutor = AccountName | 'deny' | 'gateway';

/** As whom one work is written. */
export interface Executor {
  /** The same text for the same identity. */
  readonly key: string;
  readonly account: AccountName | 'gateway';
  /** The work names it itself, so that its rights are checked before anything is written. */
  readonly isNamed: boolean;
}

/** The identity path of requests: makes of a user the one that the cluster may see. */
export type OutgoingRule = (user: User, cluster: ClusterSpec) => User;

/** The work may not be written as anybody. */
export class ExecutorRefused extends Error {
  override readonly name = 'ExecutorRefused';
}

/** @throws ExecutorRefused */
export function executorOf(work: HubObject, fallback: DefaultExecutor): Executor {
  const named = fieldOf(work, 'spec', 'executor', 'subject');
  if (fieldOf(work, 'spec', 'executor') === undefined) {
    if (fallback !== 'deny') return executorFor(fallback, false);
    throw new ExecutorRefused('the work names no executor, and this gateway executes no work without one');
  }
  if (textAt(named, 'type') !== 'ServiceAccount')
    throw new ExecutorRefused('only support ServiceAccount type for the executor');
  const account = fieldOf(named, 'serviceAccount');
  if (!isJsonObject(account)) throw new ExecutorRefused('the executor service account is nil');
  return executorFor({ namespace: textAt(account, 'namespace'), name: textAt(account, 'name') }, true);
}

/** @throws ExecutorRefused for a name that is not surely that of a ServiceAccount */
export function executorFor(account: AccountName | 'gateway', isNamed: boolean): Executor {
  if (account === 'gateway') return { key: 'gateway', account, isNamed };
  const key = accountUserName(account);
  const read = splitAccountName(key);
  if (read?.namespace !== account.namespace || read.name !== account.name)
    throw new ExecutorRefused('the executor is not the namespace and name of a ServiceAccount');
  return { key, account, isNamed };
}

/** What an AppliedManifestWork keeps of the executor, so that its objects can be deleted as the same one. */
export function executorFromKey(key: string): Executor | undefined {
  if (key === 'gateway') return executorFor('gateway', false);
  const account = splitAccountName(key);
  return account === undefined ? undefined : executorFor(account, true);
}

/** As whom requests for the executor go out. The function throws GatewayError IDENTITY_REFUSED. */
export function identityOf({ account }: Executor, outgoing: OutgoingRule): (cluster: ClusterSpec) => OutgoingIdentity {
  if (account === 'gateway') return () => 'self';
  // Of the member itself, so that it is no ServiceAccount of the hub, whose names are changed on the way.
  const user = makeUser({ name: accountUserName(account), origin: 'operator' });
  return (cluster) => {
    const seen = outgoing(user, cluster);
    // A rule for callers must not make somebody else of an executor.
    if (seen.name === user.name && seen.groups.length === 0 && seen.extra.length === 0) return seen;
    throw new GatewayError(
      'IDENTITY_REFUSED',
      `the rules for identities make ${JSON.stringify(seen.name)} of the executor ${user.name}; except ServiceAccounts from them`,
    );
  };
}
