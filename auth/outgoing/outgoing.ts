// The identity that a request to a member is sent with, for ordinary requests, upgrades, requests to many clusters and
// the index alike. The order matters. Exchange rules come first; they see the user as the hub knows it, and their
// result is trusted like the operator's own files. Without a matching rule, reserved names that a hub may not give away
// are removed or refused. Last, the parts that the operator does not want to send are dropped.
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import type { IdentityExchange } from './identity-exchange.ts';
import { outgoingUser } from '../rules/impersonation.ts';
import { anonymousName, unauthenticatedGroup } from '../callers/reserved.ts';
import { forwardedIdentity } from './trust.ts';
import type { TrustOptions } from './trust.ts';

/** The operator's settings for identities sent to members. */
export interface OutgoingSettings {
  readonly trust: TrustOptions;
  readonly exchange: IdentityExchange;
  /** Extra keys that are sent, in lower case; undefined sends all. */
  readonly extra: ReadonlySet<string> | undefined;
  /**
   * Whether only the user name is sent. KEP-5284's serviceaccount mode accepts nothing else, and some members permit
   * nothing else.
   */
  readonly usernameOnly: boolean;
}

/**
 * The settings, with a cache of the outgoing identities that were made by them. The whole object is replaced when the
 * rules file changes.
 */
export interface OutgoingRules extends OutgoingSettings {
  readonly remembered: {
    /**
     * Cached results that are the same for all clusters to which no exchange rule can apply, by the user before the
     * exchange.
     */
    readonly everywhere: WeakMap<User, User>;
    readonly inCluster: WeakMap<User, WeakMap<ClusterSpec, User>>;
  };
}

export function makeOutgoingRules(settings: OutgoingSettings): OutgoingRules {
  const remembered: OutgoingRules['remembered'] = { everywhere: new WeakMap(), inCluster: new WeakMap() };
  return Object.freeze({ ...settings, remembered });
}

/**
 * The identity to send to the member. Results are cached by user and spec, which are frozen objects.
 * @throws GatewayError IDENTITY_REFUSED when the identity must not be sent, CLUSTER_UNUSABLE when the cluster's
 *   identity rules are not valid; errors are not cached
 */
export function outgoingIdentity(user: User, cluster: ClusterSpec, rules: OutgoingRules): User {
  const { everywhere, inCluster } = rules.remembered;
  if (!rules.exchange.concerns(cluster)) {
    let made = everywhere.get(user);
    if (made === undefined) {
      made = shaped(forwardedIdentity(user, rules.trust), rules);
      everywhere.set(user, made);
    }
    return made;
  }
  let clusters = inCluster.get(user);
  if (clusters === undefined) {
    clusters = new WeakMap();
    inCluster.set(user, clusters);
  }
  let made = clusters.get(cluster);
  if (made === undefined) {
    made = shaped(rules.exchange.exchange(user, cluster) ?? forwardedIdentity(user, rules.trust), rules);
    clusters.set(cluster, made);
  }
  return made;
}

/**
 * Removes the parts of an identity that the operator does not want to send, and the groups that the member adds by
 * itself, so that the member computes the same identity.
 */
function shaped(user: User, { extra, usernameOnly }: OutgoingSettings): User {
  if (usernameOnly) {
    // When only a name is sent, the member adds `system:authenticated` to every user except `system:anonymous`. A user
    // in `system:unauthenticated` would thereby get rights that it does not have.
    if (user.groups.includes(unauthenticatedGroup) && user.name !== anonymousName) {
      throw new GatewayError(
        'IDENTITY_REFUSED',
        `with --impersonation-mode=username a user in ${unauthenticatedGroup} would become authenticated in the cluster, so the request was refused`,
      );
    }
    return makeUser({ name: user.name });
  }
  if (extra === undefined || user.extra.every(([key]) => extra.has(key))) return outgoingUser(user);
  const kept = user.extra.filter(([key]) => extra.has(key));
  return outgoingUser(makeUser({ name: user.name, uid: user.uid, groups: user.groups, extra: kept }));
}
