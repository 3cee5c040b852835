// The RBAC objects of one cluster, compiled so that deciding for a user only looks at the bindings of that user.
// Bindings refer to roles by name, because a binding may arrive before its role and a role may change later.
import { mastersGroup } from '../../auth/callers/reserved.ts';
import type { User } from '../../model/user.ts';
import type { ResourceType } from '../../query/types.ts';
import { intersectGrants, isNothing, makeGrant, mostNames, noGrant } from '../../query/scope/grants.ts';
import type { GrantedName } from '../../query/scope/grants.ts';
import { compareText } from '../../lib/text/compare-text.ts';
import { reachOfRules, readBinding, readRules, ruleAllows, subjectKeysOf } from './rbac.ts';
import type { Binding, PolicyRule, RoleReference, RuleReach, SubjectKey } from './rbac.ts';
import type { Grant } from '../../query/scope/scope.ts';

/** The verbs for which the index shows rows. */
export type RowVerb = 'get' | 'list' | 'watch';

/** The resources whose objects an {@link RbacView} is compiled from. */
export type RbacKind = 'roles' | 'rolebindings' | 'clusterroles' | 'clusterrolebindings' | 'namespaces';

/** A type, and whether its objects live in namespaces: that decides whether RoleBindings can grant it. */
export interface ScopedType extends ResourceType {
  /** Whether objects of the type are in namespaces; undefined while the gateway does not know it. */
  readonly namespaced: boolean | undefined;
}

/** The compiled RBAC objects of one incarnation of a cluster (see `Incarnation` in query/types.ts). */
export interface RbacView {
  /** A number that is new after every change of a role or binding. */
  readonly generation: number;
  /** Names of the Namespaces that exist. */
  readonly namespaces: ReadonlySet<string>;
  /**
   * The objects of the type that the cluster would show this user with this verb: by a list or watch of everything, of
   * one namespace or of one name, or by a get of each object.
   */
  grant(user: Pick<User, 'name' | 'groups'>, verb: RowVerb, type: ScopedType): Grant;
  /** Every binding that can allow something, with the rules of its role; no rules while there is no such role. */
  bindings(): Iterable<BoundRules>;
}

/** A binding with the rules of its role. */
export interface BoundRules {
  readonly binding: Binding;
  readonly rules: readonly PolicyRule[];
}

/** An {@link RbacView} to which RBAC objects and Namespaces can be added. */
export interface RbacFeed extends RbacView {
  /**
   * Adds, replaces or removes one object.
   * @param object the parsed object; undefined when it was deleted
   * @returns keys of users and groups whose rights may have changed; undefined when anybody's may have
   */
  put(kind: RbacKind, namespace: string, name: string, object: unknown): Iterable<SubjectKey> | undefined;
}

const noRules: readonly PolicyRule[] = Object.freeze([]);

type Subject = Pick<User, 'name' | 'groups'>;

/**
 * Makes an empty view.
 * @param nextGeneration gives a number that no other view has used, so that a view which replaces an older one is not
 *   mistaken for it
 */
export function makeRbacView(nextGeneration: () => number): RbacFeed {
  return new CompiledRbac(nextGeneration);
}

class CompiledRbac implements RbacFeed {
  readonly namespaces = new Set<string>();
  readonly #roles = new Map<string, readonly PolicyRule[]>();
  readonly #bindings = new Map<string, Binding>();
  readonly #bySubject = new Map<SubjectKey, Set<Binding>>();
  /** By the role to which they refer. */
  readonly #byRole = new Map<string, Set<Binding>>();
  readonly #nextGeneration: () => number;
  #generation: number;

  constructor(nextGeneration: () => number) {
    this.#nextGeneration = nextGeneration;
    this.#generation = nextGeneration();
  }

  get generation(): number {
    return this.#generation;
  }

  grant(user: Subject, verb: RowVerb, type: ScopedType): Grant {
    if (user.groups.includes(mastersGroup)) return 'all';
    if (verb !== 'watch') return this.#granted(user, verb, type);
    // A watch from the beginning sends all existing objects first, so the user must be allowed to list them as well.
    const listed = this.#granted(user, 'list', type);
    return isNothing(listed) ? listed : intersectGrants(listed, this.#granted(user, 'watch', type));
  }

  put(kind: RbacKind, namespace: string, name: string, object: unknown): Iterable<SubjectKey> | undefined {
    const isNamespaced = kind === 'roles' || kind === 'rolebindings';
    // A namespaced object without a namespace, or a cluster-scoped one with a namespace, is an error of the cluster. It
    // grants nothing.
    if (isNamespaced !== (namespace !== '')) return [];
    if (kind === 'namespaces') {
      if (object === undefined) this.namespaces.delete(name);
      else this.namespaces.add(name);
      return undefined;
    }
    this.#generation = this.#nextGeneration();
    if (kind === 'roles' || kind === 'clusterroles') {
      const key = roleKey({ kind: kind === 'roles' ? 'Role' : 'ClusterRole', namespace, name });
      if (object === undefined) this.#roles.delete(key);
      else this.#roles.set(key, readRules(object));
      return this.#boundTo(key);
    }
    const key = `${namespace}/${name}`;
    const before = this.#unbind(key);
    const binding = object === undefined ? undefined : readBinding(object, { namespace, name });
    if (binding !== undefined) this.#bind(key, binding);
    return [...(before?.subjects ?? []), ...(binding?.subjects ?? [])];
  }

  *bindings(): Generator<BoundRules> {
    for (const binding of this.#bindings.values())
      yield { binding, rules: this.#roles.get(roleKey(binding.role)) ?? noRules };
  }

  *#boundTo(role: string): Generator<SubjectKey> {
    for (const binding of this.#byRole.get(role) ?? []) yield* binding.subjects;
  }

  #bind(key: string, binding: Binding): void {
    this.#bindings.set(key, binding);
    for (const subject of binding.subjects) addTo(this.#bySubject, subject, binding);
    addTo(this.#byRole, roleKey(binding.role), binding);
  }

  #unbind(key: string): Binding | undefined {
    const old = this.#bindings.get(key);
    if (old === undefined) return undefined;
    this.#bindings.delete(key);
    for (const subject of old.subjects) removeFrom(this.#bySubject, subject, old);
    removeFrom(this.#byRole, roleKey(old.role), old);
    return old;
  }

  #granted(user: Subject, verb: RowVerb, type: ScopedType): Grant {
    const reaches = new Map<readonly PolicyRule[], RuleReach>();
    // The namespaces in which each role was already looked at, so that it is looked at once in each. Otherwise whoever
    // may write in one namespace could bind a role with thousands of resourceNames to everybody thousands of times,
    // which would make each decision slow.
    const looked = new Map<readonly PolicyRule[], Set<string>>();
    const isNamespace = isNamespaceType(type);
    const inNamespaces: string[] = [];
    const ownNames: GrantedName[] = [];
    const names = new NamesByNamespace();
    for (const subject of subjectKeysOf(user)) {
      for (const binding of this.#bySubject.get(subject) ?? []) {
        const { namespace } = binding;
        if (!appliesIn(namespace, verb, type)) continue;
        const rules = this.#roles.get(roleKey(binding.role)) ?? noRules;
        const places = looked.get(rules) ?? new Set();
        if (places.has(namespace)) continue;
        looked.set(rules, places.add(namespace));
        if (isNamespace && namespace !== '') {
          // A RoleBinding allows to get one Namespace at most: its own.
          const question = { ...type, verb, subresource: '', name: namespace };
          if (rules.some((rule) => ruleAllows(rule, question)))
            ownNames.push({ namespace: undefined, name: namespace });
          continue;
        }
        let reach = reaches.get(rules);
        if (reach === undefined) {
          // Names of a namespace that has too many already are not even read.
          const mostOfRole = names.isFull(namespace) ? 0 : mostNames;
          reach = reachOfRules(rules, verb, type, mostOfRole);
          if (mostOfRole > 0) reaches.set(rules, reach);
        }
        if (reach !== 'all') names.add(namespace, reach);
        else if (namespace === '') return 'all';
        else inNamespaces.push(namespace);
      }
    }
    const { found, isCut } = names.fewest();
    if (inNamespaces.length + ownNames.length + found.length === 0 && !isCut) return noGrant;
    return makeGrant(inNamespaces, [...ownNames, ...found], isCut);
  }
}

/**
 * Single objects that roles name, by the namespace of the binding ('' for a ClusterRoleBinding). When there are too
 * many together, those of the namespaces with the most are left out. So whoever may write in one namespace can make
 * only the names of that namespace disappear.
 */
class NamesByNamespace {
  readonly #sets = new Map<string, { readonly sets: ReadonlySet<string>[]; size: number }>();

  isFull(namespace: string): boolean {
    return (this.#sets.get(namespace)?.size ?? 0) > mostNames;
  }

  add(namespace: string, names: ReadonlySet<string> | 'many'): void {
    if (names !== 'many' && names.size === 0) return;
    const place = this.#sets.get(namespace) ?? { sets: [], size: 0 };
    this.#sets.set(namespace, place);
    if (names === 'many' || place.size + names.size > mostNames) place.size = Infinity;
    else {
      place.sets.push(names);
      place.size += names.size;
    }
  }

  fewest(): { readonly found: readonly GrantedName[]; readonly isCut: boolean } {
    const found: GrantedName[] = [];
    let left = mostNames;
    let isCut = false;
    // Names of ClusterRoleBindings come first: whoever can write those is an administrator of the cluster.
    const bySize = [...this.#sets].sort(([one, { size }], [other, { size: otherSize }]) =>
      one === '' || other === '' ? compareText(one, other) : size - otherSize || compareText(one, other),
    );
    for (const [namespace, { sets, size }] of bySize) {
      if (size > left) {
        isCut = true;
        continue;
      }
      left -= size;
      for (const names of sets)
        for (const name of names) found.push({ namespace: namespace === '' ? undefined : namespace, name });
    }
    return { found, isCut };
  }
}

function addTo(bindings: Map<string, Set<Binding>>, key: string, binding: Binding): void {
  const bound = bindings.get(key);
  if (bound === undefined) bindings.set(key, new Set([binding]));
  else bound.add(binding);
}

function removeFrom(bindings: Map<string, Set<Binding>>, key: string, binding: Binding): void {
  const bound = bindings.get(key);
  bound?.delete(binding);
  if (bound?.size === 0) bindings.delete(key);
}

function isNamespaceType({ group, resource }: ScopedType): boolean {
  return group === '' && resource === 'namespaces';
}

/**
 * Whether a binding in this namespace ('' for a ClusterRoleBinding) can grant the verb for the type. RoleBindings do
 * not apply to cluster-scoped types. An exception is a get of one Namespace object: Kubernetes treats that as a request
 * inside this namespace (apiserver:pkg/endpoints/request).
 */
function appliesIn(namespace: string, verb: RowVerb, type: ScopedType): boolean {
  return namespace === '' || (isNamespaceType(type) ? verb === 'get' : type.namespaced !== false);
}

function roleKey({ kind, namespace, name }: RoleReference): string {
  return kind === 'Role' ? `${namespace}/${name}` : `/${name}`;
}
