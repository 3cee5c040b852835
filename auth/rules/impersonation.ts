// Impersonation requested by a client (`kubectl --as`), by kube-apiserver's rules
// (apiserver:pkg/endpoints/filters/impersonation): reads the requested identity, lists the permissions that the caller
// needs, and builds the identity to send on. Easy to get wrong: a header that only looks like an impersonation header
// must make the request fail, because another server may read it as one.
import { GatewayError } from '../../model/errors.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import { makeUser } from '../../model/user.ts';
import type { User, UserOrigin } from '../../model/user.ts';
import type { Attributes, AttributesCluster } from './attributes.ts';
import { decodeHeaderText, unescapeHeaderKey } from '../callers/header-values.ts';
import {
  accountGroups,
  anonymousName,
  authenticatedGroup,
  refuseOwnNames,
  splitAccountName,
  unauthenticatedGroup,
} from '../callers/reserved.ts';

/** The identity that a caller wants to act as. All its parts are valid. */
export interface RequestedImpersonation {
  readonly name: string;
  readonly uid: string;
  /** The groups as sent; empty when there was no Impersonate-Group. */
  readonly groups: readonly string[];
  /** Keys are in lower case, decoded and unique. */
  readonly extra: readonly (readonly [key: string, values: readonly string[]])[];
}

const extraPrefix = 'impersonate-extra-';
/**
 * Matches `Impersonate-…` and every spelling that a lenient server may treat as the same, such as `Impersonate_User` or
 * `impersonate.user`.
 */
const looksLikeImpersonation = /^impersonate[^a-z0-9]/i;

/**
 * Reads the Impersonate-* headers; undefined when there are none. Stricter than kube-apiserver, which silently takes
 * the first of repeated Impersonate-User or -Uid headers, ignores an empty user and accepts unknown Impersonate-*
 * headers; all of these are refused here.
 * @throws GatewayError BAD_IMPERSONATION for headers that are no valid identity, IDENTITY_REFUSED for an identity that
 *   nobody may have
 */
export function readImpersonation(rawHeaders: readonly string[]): RequestedImpersonation | undefined {
  return readRequested(rawHeaders) ?? undefined;
}

const readRequested = readOnce((rawHeaders): RequestedImpersonation | null => {
  const names: string[] = [];
  const uids: string[] = [];
  const groups: string[] = [];
  const extra = new Map<string, string[]>();
  let found = false;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] ?? '';
    if (!looksLikeImpersonation.test(header)) continue;
    found = true;
    const value = decodeHeaderText(rawHeaders[index + 1] ?? '');
    if (value === undefined) throw bad(`the value of header ${JSON.stringify(header)} is not valid UTF-8`);
    const lower = header.toLowerCase();
    if (lower === 'impersonate-user') names.push(value);
    else if (lower === 'impersonate-uid') uids.push(value);
    else if (lower === 'impersonate-group') groups.push(value);
    else if (lower.startsWith(extraPrefix) && lower.length > extraPrefix.length) {
      const key = extraKey(lower.slice(extraPrefix.length));
      const values = extra.get(key);
      if (values === undefined) extra.set(key, [value]);
      else values.push(value);
    } else throw bad(`the gateway does not know the header ${JSON.stringify(header)}`);
  }
  if (!found) return null;
  if (names.length > 1 || uids.length > 1)
    throw bad('Impersonate-User or Impersonate-Uid was sent more than once; send one of each at most');
  const [name = ''] = names;
  if (name === '') throw bad('there is no user to impersonate: send Impersonate-User with a name');
  if (groups.includes('')) throw bad('an Impersonate-Group header is empty');
  const requested = { name, uid: uids[0] ?? '', groups, extra: [...extra] };
  impersonatedUser(requested, 'hub');
  return requested;
});

/**
 * The permissions that the caller needs: one check with verb `impersonate` for each part of the requested identity.
 * @param cluster the cluster of the request, since rules may allow impersonation for some clusters only
 */
export function impersonationChecks(
  requested: RequestedImpersonation,
  caller: User,
  cluster: AttributesCluster | undefined,
): Attributes[] {
  const question = { user: caller, verb: 'impersonate', cluster, resourceRequest: true, path: '', namespace: '' };
  const core = { ...question, apiGroup: '', apiVersion: '', subresource: '' };
  const authentication = { ...question, apiGroup: 'authentication.k8s.io', apiVersion: 'v1', subresource: '' };
  const account = splitAccountName(requested.name);
  const checks: Attributes[] = [
    account === undefined
      ? { ...core, resource: 'users', name: requested.name }
      : { ...core, resource: 'serviceaccounts', namespace: account.namespace, name: account.name },
  ];
  for (const group of requested.groups) checks.push({ ...core, resource: 'groups', name: group });
  for (const [key, values] of requested.extra) {
    for (const value of values) {
      checks.push({ ...authentication, resource: 'userextras', subresource: key, name: value });
    }
  }
  if (requested.uid !== '') checks.push({ ...authentication, resource: 'uids', name: requested.uid });
  return checks;
}

/**
 * The impersonated user. It has the groups of the request; if the request names none, a ServiceAccount gets its default
 * groups. `system:authenticated` is added unless the user is anonymous, or already in that group or in
 * `system:unauthenticated`.
 * @param origin the caller's origin: a user impersonated by a hub's user is trusted only as far as the hub
 * @throws GatewayError IDENTITY_REFUSED
 */
export function impersonatedUser(requested: RequestedImpersonation, origin: UserOrigin): User {
  const user = makeUser({ ...requested, groups: apiServerGroups(requested.name, requested.groups), origin });
  refuseOwnNames(user);
  return user;
}

/**
 * The identity to send in Impersonate-* headers so that the member ends up with exactly `user`. The member itself adds
 * `system:authenticated` (for anonymous: `system:unauthenticated`), and gives a ServiceAccount without groups its
 * default groups. Groups that the member will add are left out. Then the gateway's credential needs no permission to
 * impersonate them, and KEP-5284's serviceaccount mode works, which accepts a name alone. Easy to get wrong: groups may
 * only be left out if the member adds exactly the same. Otherwise a user in `system:unauthenticated` would become
 * authenticated, and a ServiceAccount without its groups would get them.
 */
export function outgoingUser(user: User): User {
  const implied = user.name === anonymousName ? unauthenticatedGroup : authenticatedGroup;
  if (!user.groups.includes(implied)) return user;
  const rest = user.groups.filter((group) => group !== implied);
  // Tries to send no groups at all; then all groups but the one that the member adds.
  const groups = [[], rest].find((fewer) => sameMembers(apiServerGroups(user.name, fewer), user.groups));
  return groups === undefined ? user : makeUser({ name: user.name, uid: user.uid, groups, extra: user.extra });
}

/**
 * The user that a member ends up with for this identity, which its audit log shows as `impersonatedUser`. Cached for
 * each user object.
 */
export function memberView(outgoing: User): User {
  let seen = memberViews.get(outgoing);
  if (seen === undefined) {
    const groups = apiServerGroups(outgoing.name, outgoing.groups);
    seen = groups === outgoing.groups ? outgoing : makeUser({ ...outgoing, groups });
    memberViews.set(outgoing, seen);
  }
  return seen;
}

const memberViews = new WeakMap<User, User>();

function sameMembers(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((group) => other.includes(group));
}

/** The groups that an API server gives an impersonated user with these Impersonate-Group headers. */
function apiServerGroups(name: string, given: readonly string[]): readonly string[] {
  const account = given.length === 0 ? splitAccountName(name) : undefined;
  const groups = account === undefined ? given : accountGroups(account.namespace);
  if (name === anonymousName) {
    return groups.includes(unauthenticatedGroup) ? groups : [...groups, unauthenticatedGroup];
  }
  const settled = groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup);
  return settled ? groups : [...groups, authenticatedGroup];
}

/**
 * Decodes the key of an extra header. The key is lower-cased after decoding too, because `%41` means the same key as
 * `a`.
 */
function extraKey(escaped: string): string {
  const key = unescapeHeaderKey(escaped);
  if (key === undefined) throw bad(`the key of header ${JSON.stringify(extraPrefix + escaped)} is not valid UTF-8`);
  return key.toLowerCase();
}

function bad(message: string): GatewayError {
  return new GatewayError('BAD_IMPERSONATION', message);
}
