// Operations on grants. A grant says which objects of one type a user may read in one cluster: namespaces, and names of
// single objects. The operations are intersection, whether an object is allowed, and a digest. The name of an object
// without a namespace means that name in every namespace; intersected with a list of namespaces, it becomes the name in
// each of them.
import { hash } from 'node:crypto';
import type { Grant } from './scope.ts';

/** A {@link Grant} that lists namespaces and names, so not 'all'. */
export type ListedGrant = Exclude<Grant, 'all'>;
export type GrantedName = ListedGrant['names'][number];

/** The grant that allows no object. */
export const noGrant: ListedGrant = Object.freeze({ namespaces: Object.freeze([]), names: Object.freeze([]) });

/**
 * The most single objects that roles may name in one grant (`resourceNames`). Whoever may write in one namespace of a
 * cluster could otherwise name some 190,000 in a role that is bound to everybody, and the gateway would keep them for
 * every user. What is beyond it is not shown.
 */
export const mostNames = 10_000;
/** The most names of an intersection. A name without a namespace becomes one for each namespace of the other grant. */
const mostIntersected = 2 * mostNames;

/** Whether the grant leaves out single objects that the user may see. */
export function isCut(grant: Grant): boolean {
  return grant !== 'all' && grant.isCut === true;
}

/** The number of namespaces and single objects in the grant; 1 for `all`. */
export function grantSize(grant: Grant): number {
  return grant === 'all' ? 1 : grant.namespaces.length + grant.names.length;
}

/** Whether the grant allows no object. */
export function isNothing(grant: Grant): boolean {
  return grant !== 'all' && grant.namespaces.length === 0 && grant.names.length === 0;
}

/** Whether the grant allows this object. `namespace` is '' for cluster-scoped objects. */
export function grantAllows(grant: Grant, namespace: string, name: string): boolean {
  if (grant === 'all') return true;
  const index = indexOf(grant);
  return index.namespaces.has(namespace) || index.names.get(name)?.allows(namespace) === true;
}

/**
 * A grant of these namespaces and names: sorted, without duplicates, and without names that another entry already
 * covers. Equal rights give equal grants.
 * @param cut whether single objects that the user may see are left out
 */
export function makeGrant(namespaces: Iterable<string>, names: Iterable<GrantedName>, cut = false): ListedGrant {
  const whole = new Set(namespaces);
  const everywhere = new Set<string>();
  const placed = new Map<string, Set<string>>();
  for (const { namespace, name } of names) {
    if (namespace === undefined) everywhere.add(name);
    else if (!whole.has(namespace)) placed.set(namespace, (placed.get(namespace) ?? new Set()).add(name));
  }
  const listed: GrantedName[] = [...everywhere].sort().map((name) => ({ namespace: undefined, name }));
  for (const [namespace, inNamespace] of [...placed].sort(byKey)) {
    for (const name of [...inNamespace].sort()) if (!everywhere.has(name)) listed.push({ namespace, name });
  }
  const grant = { namespaces: Object.freeze([...whole].sort()), names: Object.freeze(listed) };
  return Object.freeze(cut ? { ...grant, isCut: true } : grant);
}

/** The objects that both grants allow. */
export function intersectGrants(one: Grant, other: Grant): Grant {
  if (one === 'all' || one === other) return other;
  if (other === 'all') return one;
  const inOther = indexOf(other).namespaces;
  const names: GrantedName[] = [];
  let cut = isCut(one) || isCut(other);
  for (const found of [namesAllowedBy(one.names, other), namesAllowedBy(other.names, one)]) {
    for (const name of found) {
      if (names.length < mostIntersected) names.push(name);
      else {
        cut = true;
        break;
      }
    }
  }
  return makeGrant(
    one.namespaces.filter((namespace) => inOther.has(namespace)),
    names,
    cut,
  );
}

/** The names of `names` that `other` allows as well, each limited to the namespaces where `other` allows it. */
function* namesAllowedBy(names: readonly GrantedName[], other: ListedGrant): Generator<GrantedName> {
  const index = indexOf(other);
  for (const granted of names) {
    const { namespace, name } = granted;
    const there = index.names.get(name);
    if (namespace !== undefined) {
      if (index.namespaces.has(namespace) || there?.allows(namespace) === true) yield granted;
    } else if (there?.everywhere === true) yield granted;
    else {
      for (const each of other.namespaces) yield { namespace: each, name };
      for (const each of there?.namespaces ?? []) yield { namespace: each, name };
    }
  }
}

/** A text that is equal for two grants exactly when the grants are equal. */
export function grantDigest(grant: Grant): string {
  if (grant === 'all') return 'all';
  let digest = digests.get(grant);
  if (digest === undefined) {
    const names = grant.names.map(({ namespace, name }) => [namespace ?? null, name]);
    // Whether something is left out is part of it: a kept grant without that mark would look complete.
    digest = textDigest(JSON.stringify([grant.namespaces, names, ...(isCut(grant) ? ['cut'] : [])]));
    digests.set(grant, digest);
  }
  return digest;
}

/** SHA-256 of the text in base64url. */
export function textDigest(text: string): string {
  return hash('sha256', text, 'base64url');
}

const digests = new WeakMap<ListedGrant, string>();

interface NameIndex {
  readonly everywhere: boolean;
  readonly namespaces: ReadonlySet<string>;
  allows(namespace: string): boolean;
}

interface GrantIndex {
  readonly namespaces: ReadonlySet<string>;
  readonly names: ReadonlyMap<string, NameIndex>;
}

const indexes = new WeakMap<ListedGrant, GrantIndex>();

function indexOf(grant: ListedGrant): GrantIndex {
  let index = indexes.get(grant);
  if (index === undefined) {
    const places = new Map<string, Set<string | undefined>>();
    for (const { namespace, name } of grant.names) places.set(name, (places.get(name) ?? new Set()).add(namespace));
    const names = new Map<string, NameIndex>();
    for (const [name, found] of places) {
      const everywhere = found.delete(undefined);
      const namespaces = found as Set<string>;
      names.set(name, { everywhere, namespaces, allows: (namespace) => everywhere || namespaces.has(namespace) });
    }
    index = { namespaces: new Set(grant.namespaces), names };
    indexes.set(grant, index);
  }
  return index;
}

function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
