// As whom a member may see a caller, decided once for every path (DESIGN rule 17): names that mean something to every API server are not a
// hub's to give. Easy to get wrong: a member takes `system:serviceaccount:a:b` for its own account of that name, who is somebody else; and
// what is dropped from a name must be dropped from its groups too.
import { GatewayError } from '../cache/errors.ts';
import { makeUser } from '../cache/user.ts';
import type { User } from '../cache/user.ts';
import { mastersGroup } from './reserved.ts';

/** What the operator says about identities that a hub or identity provider vouches for. */
export interface TrustOptions {
  /** Group `system:masters` goes on as it is; otherwise it is left out. */
  readonly forwardSystemMasters: boolean;
  /**
   * ServiceAccounts of the hub: `prefixed` puts {@link hubPrefix} before their names and their groups, `as-is` makes them the member's
   * accounts of the same name, `refuse` lets none through.
   */
  readonly serviceAccountIdentity: 'prefixed' | 'as-is' | 'refuse';
}

/** Stands before the name and the groups of a hub's ServiceAccount; the form is OCM cluster-proxy's, so its RBAC keeps working. */
export const hubPrefix = 'cluster:hub:';

const accountName = 'system:serviceaccount:';
const accountsGroup = 'system:serviceaccounts';
/** Nodes, who is about to join as one, and the control plane's own components; a member grants them rights by these names. */
const componentName = /^system:(?:node:|bootstrap:|kube-)/;
const componentGroup = /^system:(?:nodes$|node:|bootstrappers(?:$|:)|kube-)/;

/**
 * The identity that stands for this user in a member. Users of the operator's own files go as written; of a hub's, `system:masters` is left
 * out, and ServiceAccounts follow the options, by their name and by every group of theirs, whoever carries it.
 * @throws GatewayError IDENTITY_REFUSED for names and groups of nodes, joining ones too, and of control plane components, for refused ServiceAccounts, and for
 * names that already look like a prefixed ServiceAccount
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
  const name = user.name.startsWith(accountName) ? accountIdentity(user.name, options) : own(user.name, options);
  const groups: string[] = [];
  for (const group of user.groups) {
    if (group === mastersGroup && !options.forwardSystemMasters) continue;
    const ofAccounts = group === accountsGroup || group.startsWith(`${accountsGroup}:`);
    groups.push(ofAccounts ? accountIdentity(group, options) : own(group, options));
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

/** Somebody else's name must not come out as a prefixed one. */
function own(name: string, { serviceAccountIdentity }: TrustOptions): string {
  if (serviceAccountIdentity === 'prefixed' && name.startsWith(hubPrefix)) {
    throw refused(`${JSON.stringify(name)} is reserved for ServiceAccounts of the hub`);
  }
  return name;
}

function refused(message: string): GatewayError {
  return new GatewayError('IDENTITY_REFUSED', `the identity cannot be used in a cluster: ${message}`);
}
