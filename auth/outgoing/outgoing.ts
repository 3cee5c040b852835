// As whom a request goes to a member: one function for streams, upgrades, fan-out and index. The order matters.
// Exchange rules come first: they see the caller as the hub knows it, and their result counts as the operator's own
// word. Identities without a matching rule then lose what a hub may not give away. Last comes what the operator lets
// out of any identity.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterSpec } from '../../cache/model/records.ts';
import { makeUser } from '../../cache/model/user.ts';
import type { User } from '../../cache/model/user.ts';
import type { IdentityExchange } from './identity-exchange.ts';
import { outgoingUser } from '../rules/impersonation.ts';
import { anonymousName, unauthenticatedGroup } from '../callers/reserved.ts';
import { forwardedIdentity } from './trust.ts';
import type { TrustOptions } from './trust.ts';

/** What the operator decided about outgoing identities. */
export interface OutgoingSettings {
  readonly trust: TrustOptions;
  readonly exchange: IdentityExchange;
  /** Extra keys that go out, lower case; undefined means all of them. */
  readonly extra: ReadonlySet<string> | undefined;
  /** Only the name goes out: all that KEP-5284's serviceaccount mode takes, and all that some members grant. */
  readonly usernameOnly: boolean;
}

/** Settings, and the answers given with them so far; replaced whole when the rules file changes. */
export interface OutgoingRules extends OutgoingSettings {
  readonly remembered: {
    /** For clusters that no exchange rule concerns. */
    readonly everywhere: WeakMap<User, User>;
    readonly inCluster: WeakMap<User, WeakMap<ClusterSpec, User>>;
  };
}

export function makeOutgoingRules(settings: OutgoingSettings): OutgoingRules {
  const remembered: OutgoingRules['remembered'] = { everywhere: new WeakMap(), inCluster: new WeakMap() };
  return Object.freeze({ ...settings, remembered });
}

/**
 * The identity that goes out to the member. Users and specs are frozen objects, so each answer is made once for each
 * pair of them.
 * @throws GatewayError IDENTITY_REFUSED for identities that may not go out, CLUSTER_UNUSABLE when the cluster's own
 *   rules cannot be used; neither is remembered
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

/** The parts of an identity that go out, in the form from which the member derives this identity. */
function shaped(user: User, { extra, usernameOnly }: OutgoingSettings): User {
  if (usernameOnly) {
    // Anybody but the anonymous user becomes authenticated in the member when only a name is sent.
    if (user.groups.includes(unauthenticatedGroup) && user.name !== anonymousName) {
      throw new GatewayError(
        'IDENTITY_REFUSED',
        `with --impersonation-mode=username a user in ${unauthenticatedGroup} would become authenticated in the cluster`,
      );
    }
    return makeUser({ name: user.name });
  }
  if (extra === undefined || user.extra.every(([key]) => extra.has(key))) return outgoingUser(user);
  const kept = user.extra.filter(([key]) => extra.has(key));
  return outgoingUser(makeUser({ name: user.name, uid: user.uid, groups: user.groups, extra: kept }));
}
