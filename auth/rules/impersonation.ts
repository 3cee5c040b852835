// Nested impersonation, `kubectl --as`, by kube-apiserver's rules (apiserver:pkg/endpoints/filters/impersonation): the
// requested identity, the permissions the caller needs for it, and the user and groups that go out. Easy to get wrong:
// a header that only looks like impersonation must stop the request, since a server further on may read it as one.
import { GatewayError } from '../../cache/model/errors.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import { makeUser } from '../../cache/model/user.ts';
import type { User, UserOrigin } from '../../cache/model/user.ts';
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

/** The identity a caller asks to act as; every part was checked to be usable as an identity. */
export interface RequestedImpersonation {
  readonly name: string;
  readonly uid: string;
  /** As given; empty when no Impersonate-Group was sent. */
  readonly groups: readonly string[];
  /** Keys are lower case, unescaped and distinct. */
  readonly extra: readonly (readonly [key: string, values: readonly string[]])[];
}

const extraPrefix = 'impersonate-extra-';
/**
 * `Impersonate-…` and every spelling that a lenient receiver may treat as the same: `Impersonate_User`,
 * `impersonate.user`.
 */
const looksLikeImpersonation = /^impersonate[^a-z0-9]/i;

/**
 * Reads the Impersonate-* headers; undefined when there are none. Stricter than kube-apiserver, which silently takes
 * the first of repeated Impersonate-User or -Uid, ignores an empty user and lets unknown Impersonate-* headers pass:
 * all of these are refused here.
 * @throws GatewayError BAD_IMPERSONATION for headers that make no identity, IDENTITY_REFUSED for an identity that
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
  if (names.length > 1 || uids.length > 1) throw bad('Impersonate-User and Impersonate-Uid may each be sent once');
  const [name = ''] = names;
  if (name === '') throw bad('there is no user to impersonate: send Impersonate-User with a name');
  if (groups.includes('')) throw bad('an Impersonate-Group header is empty');
  const requested = { name, uid: uids[0] ?? '', groups, extra: [...extra] };
  impersonatedUser(requested, 'hub');
  return requested;
});

/**
 * What the caller must be allowed before anything else is decided: one question with verb `impersonate` for each value.
 * @param cluster the cluster the request is for: rules may grant impersonation for some clusters only
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
 * The user that the headers describe. Given groups are authoritative; a ServiceAccount without any gets its own;
 * `system:authenticated` is added unless the user is anonymous or that question was answered by a group.
 * @param origin the caller's: when the hub vouches for the caller, it alone vouches for the impersonated user, too
 * @throws GatewayError IDENTITY_REFUSED
 */
export function impersonatedUser(requested: RequestedImpersonation, origin: UserOrigin): User {
  const user = makeUser({ ...requested, groups: apiServerGroups(requested.name, requested.groups), origin });
  refuseOwnNames(user);
  return user;
}

/**
 * The identity to write into Impersonate-* headers so that the member arrives at exactly this user. The member adds
 * `system:authenticated` (or, for anonymous, `system:unauthenticated`) by itself, and gives a ServiceAccount without
 * groups its own; these are left out wherever the member would add them, and only there, so that the gateway's
 * credential needs no right to impersonate them and KEP-5284's serviceaccount mode, which takes a name alone, applies.
 * Elsewhere leaving them out would change the identity: a user in `system:unauthenticated` would become authenticated,
 * and a ServiceAccount without its groups would get them.
 */
export function outgoingUser(user: User): User {
  const implied = user.name === anonymousName ? unauthenticatedGroup : authenticatedGroup;
  if (!user.groups.includes(implied)) return user;
  const rest = user.groups.filter((group) => group !== implied);
  // First without any group, then without those that the member adds.
  const groups = [[], rest].find((fewer) => sameMembers(apiServerGroups(user.name, fewer), user.groups));
  return groups === undefined ? user : makeUser({ name: user.name, uid: user.uid, groups, extra: user.extra });
}

/** The user that a member makes of this identity: what its audit log shows as `impersonatedUser`. Each is made once. */
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

/** Groups that an API server gives an impersonated user with these Impersonate-Group headers. */
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
 * Key of `userextras/<key>`. Lower case again at the end: `%41` is the same key as `a` by the time it reaches a member.
 */
function extraKey(escaped: string): string {
  const key = unescapeHeaderKey(escaped);
  if (key === undefined) throw bad(`the key of header ${JSON.stringify(extraPrefix + escaped)} is not valid UTF-8`);
  return key.toLowerCase();
}

function bad(message: string): GatewayError {
  return new GatewayError('BAD_IMPERSONATION', message);
}
