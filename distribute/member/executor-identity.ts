// Decides as whom the manifests of a work are written: as the ServiceAccount of the member that the work names, by
// impersonation and the same identity rules as requests of clients. Anything that is not surely that ServiceAccount is
// refused.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterSpec } from '../../cache/model/records.ts';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { makeUser, type User } from '../../cache/model/user.ts';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import { accountUserName, splitAccountName, type AccountName } from '../../auth/callers/reserved.ts';
import type { OutgoingIdentity } from '../../routing/members/member-request.ts';
import { textAt } from '../../controllers/objects.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';

/** Who writes works that name no executor; `gateway` is the gateway's own credential for the cluster. */
export type DefaultExecutor = AccountName | 'deny' | 'gateway';

/** The identity that writes the objects of one work. */
export interface Executor {
  /** The user name of the ServiceAccount, or `gateway`; equal for equal identities. */
  readonly key: string;
  readonly account: AccountName | 'gateway';
  /** Whether the work itself names the executor, so that its rights are checked before anything is written. */
  readonly isNamed: boolean;
}

/** The identity rule for requests of clients: turns a user into the one that the cluster sees. */
export type OutgoingRule = (user: User, cluster: ClusterSpec) => User;

/** No identity may write the objects of the work, and the message says why. */
export class ExecutorRefused extends Error {
  override readonly name = 'ExecutorRefused';
}

/** Returns the executor that the work names, else the default one. @throws ExecutorRefused */
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

/** Makes an executor of an account. @throws ExecutorRefused for a name that is not surely that of a ServiceAccount */
export function executorFor(account: AccountName | 'gateway', isNamed: boolean): Executor {
  if (account === 'gateway') return { key: 'gateway', account, isNamed };
  const key = accountUserName(account);
  const read = splitAccountName(key);
  if (read?.namespace !== account.namespace || read.name !== account.name)
    throw new ExecutorRefused('the executor is not the namespace and name of a ServiceAccount');
  return { key, account, isNamed };
}

/**
 * Reads the `key` of an executor back, which an AppliedManifestWork records so that the same executor deletes its
 * objects.
 */
export function executorFromKey(key: string): Executor | undefined {
  if (key === 'gateway') return executorFor('gateway', false);
  const account = splitAccountName(key);
  return account === undefined ? undefined : executorFor(account, true);
}

/**
 * Returns the identity for requests of the executor to a cluster. That function throws GatewayError IDENTITY_REFUSED.
 */
export function identityOf({ account }: Executor, outgoing: OutgoingRule): (cluster: ClusterSpec) => OutgoingIdentity {
  if (account === 'gateway') return () => 'self';
  // The user counts as one of the member itself: names of the hub's ServiceAccounts would be changed on the way.
  const user = makeUser({ name: accountUserName(account), origin: 'operator' });
  return (cluster) => {
    const seen = outgoing(user, cluster);
    // A rule that is meant for clients must not turn the executor into another user.
    if (seen.name === user.name && seen.groups.length === 0 && seen.extra.length === 0) return seen;
    throw new GatewayError(
      'IDENTITY_REFUSED',
      `the rules for identities make ${JSON.stringify(seen.name)} of the executor ${user.name}; except ServiceAccounts from them`,
    );
  };
}
