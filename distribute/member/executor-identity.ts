// Decides as whom the manifests of a ManifestWork are written: as the ServiceAccount of the member that the work names,
// by impersonation and by the same identity rules as requests of clients. If the identity could be any other than that
// ServiceAccount's, the work is refused.
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { makeUser, type User } from '../../model/user.ts';
import { accountUserName, splitAccountName, type AccountName } from '../../auth/callers/reserved.ts';
import type { OutgoingIdentity } from '../../routing/members/member-request.ts';
import type { NamedExecutor } from '../work/work.ts';

/**
 * Who writes the objects of ManifestWorks that name no executor: a ServiceAccount, or `gateway`, the gateway's own
 * credential for the cluster. With `deny`, such works are refused.
 */
export type DefaultExecutor = AccountName | 'deny' | 'gateway';

/** The identity that writes the objects of one ManifestWork. */
export interface Executor {
  /** `gateway`, or the user name of the ServiceAccount. Two executors with the same key are the same identity. */
  readonly key: string;
  readonly account: AccountName | 'gateway';
  /** Whether the ManifestWork itself names the executor. Its rights are then checked before anything is written. */
  readonly isNamed: boolean;
}

/** The gateway's own credential as executor. */
export const ownExecutor: Executor = { key: 'gateway', account: 'gateway', isNamed: false };

/** The identity rules for requests of clients: a function from a user to the user that the cluster sees. */
export type OutgoingRule = (user: User, cluster: ClusterSpec) => User;

/** Thrown when no identity may write the objects of a ManifestWork; the message says why. */
export class ExecutorRefused extends Error {
  override readonly name = 'ExecutorRefused';
}

/** Returns the executor that a ManifestWork names, else the default one. @throws ExecutorRefused */
export function executorOf(named: NamedExecutor | undefined, fallback: DefaultExecutor): Executor {
  if (named !== undefined) {
    if ('fault' in named) throw new ExecutorRefused(named.fault);
    return executorFor(named, true);
  }
  if (fallback !== 'deny') return executorFor(fallback, false);
  throw new ExecutorRefused('the work names no executor, and this gateway executes no work without one');
}

/**
 * Makes an executor of an account. @throws ExecutorRefused for a namespace or name that a ServiceAccount cannot have
 */
export function executorFor(account: AccountName | 'gateway', isNamed: boolean): Executor {
  if (account === 'gateway') return { ...ownExecutor, isNamed };
  const key = accountUserName(account);
  const read = splitAccountName(key);
  if (read?.namespace !== account.namespace || read.name !== account.name)
    throw new ExecutorRefused('the executor is not the namespace and name of a ServiceAccount');
  return { key, account, isNamed };
}

/**
 * Returns a function that gives the identity for the executor's requests to a cluster. That function throws
 * GatewayError IDENTITY_REFUSED.
 */
export function identityOf({ account }: Executor, outgoing: OutgoingRule): (cluster: ClusterSpec) => OutgoingIdentity {
  if (account === 'gateway') return () => 'self';
  // The origin `operator` marks the user as one of the member itself. A user of the hub would be exchanged for another
  // name, since the hub's ServiceAccounts are not the member's.
  const user = makeUser({ name: accountUserName(account), origin: 'operator' });
  return (cluster) => {
    const seen = outgoing(user, cluster);
    // Rules that are meant for clients must not turn the executor into another user, or give it groups.
    if (seen.name === user.name && seen.groups.length === 0 && seen.extra.length === 0) return seen;
    throw new GatewayError(
      'IDENTITY_REFUSED',
      `the rules of --identity-exchange change the executor ${user.name} to ${JSON.stringify(seen.name)}; let them match no ServiceAccounts of clusters`,
    );
  };
}
