// Evaluates `Impersonate-*` headers as kube-apiserver does
// (apiserver/pkg/endpoints/filters/impersonation/impersonation.go, legacy mode, which all versions support). The
// impersonated user has only the groups in the headers; a ServiceAccount without groups there has its usual ones.
// system:authenticated is added, unless it or system:unauthenticated is among them. For system:anonymous,
// system:unauthenticated is added.
import type { Attributes, Authorize } from './authorize.ts';
import { attributesOf, forbiddenBy } from './authorize.ts';
import { headerValues, utf8 } from '../wire/headers.ts';
import { badRequest } from '../model/status-error.ts';
import type { SimUser } from '../model/types.ts';

const extraPrefix = 'impersonate-extra-';

/**
 * Returns the user to run the request as; undefined when the request does not impersonate.
 * @throws StatusError 400 for groups, uid or extra without a user; 403 when the caller may not impersonate the user, a
 * group, the uid or an extra value
 */
export function impersonate(rawHeaders: readonly string[], caller: SimUser, authorize: Authorize): SimUser | undefined {
  const user = utf8(headerValues(rawHeaders, 'impersonate-user')[0] ?? '');
  const givenGroups = headerValues(rawHeaders, 'impersonate-group').map(utf8);
  const uid = utf8(headerValues(rawHeaders, 'impersonate-uid')[0] ?? '');
  const extra = extraOf(rawHeaders);
  if (user === '') {
    if (givenGroups.length === 0 && uid === '' && extra.length === 0) return undefined;
    throw badRequest(`requested ${goUser(uid, givenGroups, extra)} without impersonating a user name`);
  }

  const check = (resource: string, group: string, name: string, more: Partial<Attributes> = {}): void => {
    const version = group === '' ? '' : 'v1';
    const attributes = attributesOf(caller, 'impersonate', { group, version, resource, name, ...more });
    const decision = authorize(attributes);
    if (!decision.isAllowed) throw forbiddenBy(attributes, decision.reason);
  };

  let groups = givenGroups;
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  if (account?.[1] !== undefined && account[2] !== undefined) {
    check('serviceaccounts', '', account[2], { namespace: account[1] });
    if (groups.length === 0) groups = ['system:serviceaccounts', `system:serviceaccounts:${account[1]}`];
  } else {
    check('users', '', user);
  }
  for (const group of givenGroups) check('groups', '', group);
  for (const [key, value] of extra) check('userextras', 'authentication.k8s.io', value, { subresource: key });
  if (uid !== '') check('uids', 'authentication.k8s.io', uid);

  const extras: Record<string, string[]> = {};
  for (const [key, value] of extra) (extras[key] ??= []).push(value);
  return {
    name: user,
    groups: withSystemGroup(user, groups),
    ...(uid === '' ? {} : { uid }),
    ...(extra.length === 0 ? {} : { extra: extras }),
  };
}

function withSystemGroup(user: string, groups: readonly string[]): readonly string[] {
  if (user === 'system:anonymous')
    return groups.includes('system:unauthenticated') ? groups : [...groups, 'system:unauthenticated'];
  const isMarked = groups.includes('system:authenticated') || groups.includes('system:unauthenticated');
  return isMarked ? groups : [...groups, 'system:authenticated'];
}

function extraOf(rawHeaders: readonly string[]): (readonly [key: string, value: string])[] {
  const out: (readonly [string, string])[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    if (name.startsWith(extraPrefix))
      out.push([unescapeKey(name.slice(extraPrefix.length)), utf8(rawHeaders[i + 1] ?? '')]);
  }
  return out;
}

/** Decodes percent-encoding. When that fails, returns the key unchanged. */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** The requested user as Go prints it with %#v, for an error message. */
function goUser(uid: string, groups: readonly string[], extra: readonly (readonly [string, string])[]): string {
  const list = (values: readonly string[]): string =>
    `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`;
  const byKey = new Map<string, string[]>();
  for (const [key, value] of extra) byKey.set(key, [...(byKey.get(key) ?? []), value]);
  const pairs = [...byKey].map(([key, values]) => `${JSON.stringify(key)}:${list(values)}`);
  const extras = byKey.size === 0 ? 'map[string][]string(nil)' : `map[string][]string{${pairs.join(', ')}}`;
  const all = groups.length === 0 ? '[]string(nil)' : list(groups);
  return `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${all}, Extra:${extras}}`;
}
