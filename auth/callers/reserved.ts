// Names that mean something to every Kubernetes API server, and the gateway's own. `portcullis:*` is refused to every
// caller, whichever authenticator vouches for it and also behind `--as`, since probes go out under such a name (rule
// "reserved identities decided once").
import { GatewayError } from '../../cache/model/errors.ts';
import type { User } from '../../cache/model/user.ts';

/** Group of everyone who authenticated (k8s.io/apiserver/pkg/authentication/user). */
export const authenticatedGroup = 'system:authenticated';
/** Group of everyone who did not. */
export const unauthenticatedGroup = 'system:unauthenticated';
/** Name of a caller without credentials; such a caller is never in {@link authenticatedGroup} by itself. */
export const anonymousName = 'system:anonymous';
/**
 * kube-apiserver's always-allow group; decided before any authorizer (pkg/authorization/authorizerfactory,
 * PrivilegedGroups).
 */
export const mastersGroup = 'system:masters';
/** User and group names that only the gateway itself may have. */
export const ownPrefix = 'portcullis:';

const accountPrefix = 'system:serviceaccount:';
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** The parts of a ServiceAccount's user name. */
export interface AccountName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Takes `system:serviceaccount:<namespace>:<name>` apart; undefined when it is not exactly that
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

/** Groups that an API server gives a ServiceAccount by default (serviceaccount.MakeGroupNames). */
export function accountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

/**
 * Refuses names that are the gateway's own.
 * @throws GatewayError IDENTITY_REFUSED
 */
export function refuseOwnNames(identity: { readonly name: string; readonly groups: readonly string[] }): void {
  const taken = [identity.name, ...identity.groups].find((name) => name.startsWith(ownPrefix));
  if (taken !== undefined) {
    throw new GatewayError('IDENTITY_REFUSED', `the name ${JSON.stringify(taken)} is reserved for the gateway itself`);
  }
}

/** True when the user may do anything, as in kube-apiserver. */
export function isMaster(user: User): boolean {
  return user.groups.includes(mastersGroup);
}
