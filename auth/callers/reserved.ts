// Names with a fixed meaning for every Kubernetes API server, and names that only the gateway uses. `portcullis:*` is
// refused for all callers and also with `--as`, because the gateway's probes use such a name (rule "reserved identities
// decided once" in docs/rules.md).
import { GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';

/** Group of all authenticated users (k8s.io/apiserver/pkg/authentication/user). */
export const authenticatedGroup = 'system:authenticated';
/** Group of all unauthenticated users. */
export const unauthenticatedGroup = 'system:unauthenticated';
/** User name of a request without credentials. It does not get {@link authenticatedGroup} automatically. */
export const anonymousName = 'system:anonymous';
/**
 * The group that kube-apiserver allows everything, before it asks any authorizer (pkg/authorization/authorizerfactory,
 * PrivilegedGroups).
 */
export const mastersGroup = 'system:masters';
/** Prefix of user and group names that only the gateway itself may have. */
export const ownPrefix = 'portcullis:';

const accountPrefix = 'system:serviceaccount:';
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** A ServiceAccount's namespace and name, from its user name. */
export interface AccountName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Parses `system:serviceaccount:<namespace>:<name>`; undefined when the name has another form
 * (serviceaccount.SplitUsername).
 */
export function splitAccountName(userName: string): AccountName | undefined {
  if (!userName.startsWith(accountPrefix)) return undefined;
  const parts = userName.slice(accountPrefix.length).split(':');
  const [namespace, name] = parts;
  if (parts.length !== 2 || namespace === undefined || name === undefined) return undefined;
  if (!dnsLabel.test(namespace) || name.length > 253 || !dnsSubdomain.test(name)) return undefined;
  return { namespace, name };
}

/** User name of a ServiceAccount. */
export function accountUserName(account: AccountName): string {
  return `${accountPrefix}${account.namespace}:${account.name}`;
}

/** Groups that an API server gives every ServiceAccount (serviceaccount.MakeGroupNames). */
export function accountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

/**
 * Refuses users and groups with names that only the gateway may have.
 * @throws GatewayError IDENTITY_REFUSED
 */
export function refuseOwnNames(identity: { readonly name: string; readonly groups: readonly string[] }): void {
  const taken = [identity.name, ...identity.groups].find((name) => name.startsWith(ownPrefix));
  if (taken !== undefined) {
    throw new GatewayError('IDENTITY_REFUSED', `the name ${JSON.stringify(taken)} is reserved for the gateway itself`);
  }
}

/** Whether the user is allowed everything, as in kube-apiserver. */
export function isMaster(user: User): boolean {
  return user.groups.includes(mastersGroup);
}
