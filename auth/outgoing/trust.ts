// As whom a member may see a caller, decided once for every path: a hub may not give away names that mean something to
// every API server (rule "reserved identities decided once"). Easy to get wrong: a member takes
// `system:serviceaccount:a:b` for its own account of that name, which is somebody else. A name that is dropped takes
// its groups along.
import { GatewayError } from '../../cache/model/errors.ts';
import { makeUser } from '../../cache/model/user.ts';
import type { User } from '../../cache/model/user.ts';
import { anonymousName, authenticatedGroup, mastersGroup, unauthenticatedGroup } from '../callers/reserved.ts';

/** What the operator says about identities that a hub or identity provider vouches for. */
export interface TrustOptions {
  /** Group `system:masters` goes out as it is; otherwise it is left out. */
  readonly forwardSystemMasters: boolean;
  /** More reserved users and groups that go out as they are, by their whole name; none if absent. */
  readonly forwardReserved?: readonly string[];
  /**
   * ServiceAccounts of the hub: `prefixed` puts {@link hubPrefix} before their names and their groups, `as-is` makes
   * them the member's accounts of the same name, `refuse` lets none through.
   */
  readonly serviceAccountIdentity: 'prefixed' | 'as-is' | 'refuse';
}

/**
 * Prefix of the name and the groups of a hub's ServiceAccount. OCM's cluster-proxy uses the same, so its RBAC keeps
 * working.
 */
export const hubPrefix = 'cluster:hub:';

const accountName = 'system:serviceaccount:';
const accountsGroup = 'system:serviceaccounts';
/**
 * Nodes, machines that join as nodes, and components of the control plane: a member grants them rights by these names.
 */
const componentName = /^system:(?:node:|bootstrap:|kube-)/;
const componentGroup = /^system:(?:nodes$|node:|bootstrappers(?:$|:)|kube-)/;

/**
 * What Kubernetes keeps for itself (RBAC, "default roles and role bindings"), and kubeadm, which binds such a group to
 * cluster-admin since 1.29.
 */
const reservedName = /^(?:system|kubeadm):/;
/** Without `system:unauthenticated` a member would take the same user for an authenticated one. */
const everybodysGroups: ReadonlySet<string> = new Set([authenticatedGroup, unauthenticatedGroup]);

/** What {@link isWithheld} depends on. */
export type ReservedOptions = Pick<TrustOptions, 'forwardSystemMasters' | 'forwardReserved'>;

/**
 * True for a group that a hub or identity provider cannot give and that is left out (decision 0013); groups that are
 * refused are not.
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
 * Whether an operator can list the name as one that goes out: reserved, not always refused, and not covered by another
 * option.
 */
export function isListable(name: string): boolean {
  const isDecided =
    componentName.test(name) || componentGroup.test(name) || name.startsWith(accountName) || isAccountsGroup(name);
  return reservedName.test(name) && !isDecided && !everybodysGroups.has(name) && name !== anonymousName;
}

/**
 * The identity of this user in a member. Users of the operator's own files go out as written. Users of a hub lose
 * reserved groups such as `system:masters`. ServiceAccounts of a hub follow the options, and so does every group of a
 * ServiceAccount on any user.
 * @throws GatewayError IDENTITY_REFUSED for names and groups of nodes, joining ones too, and of control plane
 *   components, for users with another reserved name, for refused ServiceAccounts, and for names that already look like
 *   a prefixed ServiceAccount
 */
export function forwardedIdentity(user: User, options: TrustOptions): User {
  if (user.origin === 'operator') return user;
  const component =
    (componentName.test(user.name) ? user.name : undefined) ?? user.groups.find((group) => componentGroup.test(group));
  if (component !== undefined) {
    throw refused(
      `${JSON.stringify(component)} is a name of nodes, joining nodes or control plane components, which stays on the hub`,
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
    `${JSON.stringify(name)} is an identity of a ServiceAccount of the hub, and this gateway forwards none`,
  );
}

/** A user cannot be left out of an identity as a group can. */
function ownName(name: string, options: TrustOptions): string {
  if (reservedName.test(name) && name !== anonymousName && options.forwardReserved?.includes(name) !== true) {
    throw refused(
      `${JSON.stringify(name)} is a reserved name of Kubernetes, which a hub or identity provider cannot give in a cluster; ` +
        'log in under another name, or have the operator list it in --forward-reserved',
    );
  }
  return own(name, options);
}

/** A name that already has the prefix must not pass for a prefixed one. */
function own(name: string, { serviceAccountIdentity }: TrustOptions): string {
  if (serviceAccountIdentity === 'prefixed' && name.startsWith(hubPrefix)) {
    throw refused(`${JSON.stringify(name)} is reserved for ServiceAccounts of the hub`);
  }
  return name;
}

function refused(message: string): GatewayError {
  return new GatewayError('IDENTITY_REFUSED', `the identity cannot be used in a cluster: ${message}`);
}
