// Decides which identity of a caller a member may see. A hub must not give away names with a fixed meaning for every
// API server (rule "reserved identities decided once" in docs/rules.md). Easy to get wrong: a member takes
// `system:serviceaccount:a:b` for its own ServiceAccount, which is not the one of the hub. And when a ServiceAccount's
// name is changed or refused, its groups must be changed or refused, too.
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { anonymousName, authenticatedGroup, mastersGroup, unauthenticatedGroup } from '../callers/reserved.ts';

/** The operator's settings for identities that come from a hub or an identity provider. */
export interface TrustOptions {
  /** Whether the group `system:masters` is sent to members; false removes it. */
  readonly forwardSystemMasters: boolean;
  /** Full names of other reserved users and groups that are sent to members; default none. */
  readonly forwardReserved?: readonly string[];
  /**
   * What happens to ServiceAccounts of the hub. `prefixed` adds {@link hubPrefix} to their names and groups, `as-is`
   * lets them act as the member's ServiceAccounts of the same name, `refuse` refuses their requests.
   */
  readonly serviceAccountIdentity: 'prefixed' | 'as-is' | 'refuse';
}

/**
 * Prefix for names and groups of a hub's ServiceAccounts. OCM's cluster-proxy uses the same prefix, so RBAC rules
 * written for cluster-proxy also work with the gateway.
 */
export const hubPrefix = 'cluster:hub:';

const accountName = 'system:serviceaccount:';
const accountsGroup = 'system:serviceaccounts';
/** User and group names of nodes, joining nodes and control plane components; members grant rights to them. */
const componentName = /^system:(?:node:|bootstrap:|kube-)/;
const componentGroup = /^system:(?:nodes$|node:|bootstrappers(?:$|:)|kube-)/;

/**
 * Names reserved by Kubernetes (RBAC, "default roles and role bindings"), and those of kubeadm, which has bound a group
 * to cluster-admin since 1.29.
 */
const reservedName = /^(?:system|kubeadm):/;
/**
 * Reserved groups that are sent to members nevertheless. If `system:unauthenticated` were removed from a user, the
 * member would add `system:authenticated`.
 */
const everybodysGroups: ReadonlySet<string> = new Set([authenticatedGroup, unauthenticatedGroup]);

/** The settings that {@link isWithheld} depends on. */
export type ReservedOptions = Pick<TrustOptions, 'forwardSystemMasters' | 'forwardReserved'>;

/**
 * Whether a group is reserved and therefore removed when a hub or identity provider gives it
 * (docs/decisions/0013-reserved-names-stay-on-the-hub.md). False for groups that make the request be refused.
 */
export function isWithheld(group: string, { forwardSystemMasters, forwardReserved }: ReservedOptions): boolean {
  if (!reservedName.test(group) || everybodysGroups.has(group)) return false;
  if (isAccountsGroup(group) || componentGroup.test(group)) return false;
  return forwardReserved?.includes(group) !== true && !(group === mastersGroup && forwardSystemMasters);
}

function isAccountsGroup(group: string): boolean {
  return group === accountsGroup || group.startsWith(`${accountsGroup}:`);
}

/**
 * Whether an operator may list this name in `--forward-reserved`, so that members see it: the name is reserved, but
 * neither always refused nor covered by another setting.
 */
export function isListable(name: string): boolean {
  const isDecided =
    componentName.test(name) || componentGroup.test(name) || name.startsWith(accountName) || isAccountsGroup(name);
  return reservedName.test(name) && !isDecided && !everybodysGroups.has(name) && name !== anonymousName;
}

/**
 * The identity of this user that a member may see. Users from the operator's own files are unchanged. Users of a hub
 * lose reserved groups such as `system:masters`. Names and groups of the hub's ServiceAccounts are handled by
 * `serviceAccountIdentity`, also when another user has such a group.
 * @throws GatewayError IDENTITY_REFUSED for names and groups of nodes and control plane components, other reserved user
 *   names, refused ServiceAccounts, and names that begin with {@link hubPrefix} themselves
 */
export function forwardedIdentity(user: User, options: TrustOptions): User {
  if (user.origin === 'operator') return user;
  const component =
    (componentName.test(user.name) ? user.name : undefined) ?? user.groups.find((group) => componentGroup.test(group));
  if (component !== undefined) {
    throw refused(
      `${JSON.stringify(component)} is a name of nodes, joining nodes or control plane components, which is never forwarded to a cluster`,
    );
  }
  const name = user.name.startsWith(accountName) ? accountIdentity(user.name, options) : ownName(user.name, options);
  const groups: string[] = [];
  for (const group of user.groups) {
    if (isWithheld(group, options)) continue;
    groups.push(isAccountsGroup(group) ? accountIdentity(group, options) : own(group, options));
  }
  const same =
    name === user.name && groups.length === user.groups.length && groups.every((g, i) => g === user.groups[i]);
  return same ? user : makeUser({ ...user, name, groups });
}

function accountIdentity(name: string, { serviceAccountIdentity }: TrustOptions): string {
  if (serviceAccountIdentity === 'prefixed') return hubPrefix + name;
  if (serviceAccountIdentity === 'as-is') return name;
  throw refused(
    `${JSON.stringify(name)} is an identity of a ServiceAccount of the hub, which this gateway does not forward (--service-account-identity=refuse)`,
  );
}

/** Refuses a reserved user name, because a user name cannot be removed from an identity as a group can. */
function ownName(name: string, options: TrustOptions): string {
  if (reservedName.test(name) && name !== anonymousName && options.forwardReserved?.includes(name) !== true) {
    throw refused(
      `${JSON.stringify(name)} is a name that Kubernetes reserves, and no user of a hub or identity provider can have it in a cluster; ` +
        'log in under another name, or have the operator list it in --forward-reserved',
    );
  }
  return own(name, options);
}

/**
 * Refuses a name that already begins with {@link hubPrefix}, because it would look like a ServiceAccount of the hub.
 */
function own(name: string, { serviceAccountIdentity }: TrustOptions): string {
  if (serviceAccountIdentity === 'prefixed' && name.startsWith(hubPrefix)) {
    throw refused(`${JSON.stringify(name)} is reserved for ServiceAccounts of the hub`);
  }
  return name;
}

function refused(message: string): GatewayError {
  return new GatewayError('IDENTITY_REFUSED', `the identity cannot be used in a cluster: ${message}`);
}
