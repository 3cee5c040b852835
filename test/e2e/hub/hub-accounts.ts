// ServiceAccounts of a real hub as callers: their tokens, their rights on the hub, and what they may do in a member
// under the name they have there. In a member such an account is `cluster:hub:system:serviceaccount:…`, so rights given
// to the plain name help nobody.
import type { Member } from '../../controlplane/fixture.ts';
import { accountSubject, clusterRoleBinding, grantedClusterRole, userSubject } from '../../site/rbac.ts';
import { accountToken } from '../../controlplane/account-token.ts';

/** Namespace of the accounts that tests make on the hub. */
export const accountNamespace = 'callers';

/** Makes the account on the hub and returns a token of it. @param audiences none means the hub's own */
export async function hubAccountToken(hub: Member, name: string, audiences?: readonly string[]): Promise<string> {
  await hub.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: accountNamespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: accountNamespace } },
  );
  const spec = { expirationSeconds: 3600, ...(audiences === undefined ? {} : { audiences }) };
  return await accountToken(hub, accountNamespace, name, spec);
}

/** How a member sees the account. */
export function memberName(name: string): string {
  return `cluster:hub:system:serviceaccount:${accountNamespace}:${name}`;
}

/** Gives the account of the hub exactly these rules there, in place of what it had under this `right`. */
export async function grantOnHub(hub: Member, name: string, right: string, rules: readonly object[]): Promise<void> {
  const named = `${name}-${right}`;
  await hub.apply(...grantedClusterRole(named, rules, accountSubject(accountNamespace, name)));
}

/** The rule for verbs on the proxy of clusters, as people write it. */
export function proxyRule(verbs: readonly string[], ...clusters: readonly string[]): object {
  const named = clusters.length === 0 ? {} : { resourceNames: clusters };
  return { apiGroups: ['gateway.portcullis.io'], resources: ['clusters/proxy'], verbs, ...named };
}

/** Makes the account an administrator of the member, so that whatever is refused was refused before it. */
export async function adminInMember(member: Member, name: string): Promise<void> {
  await member.apply(clusterRoleBinding(`hub-${name}`, 'cluster-admin', userSubject(memberName(name))));
}
