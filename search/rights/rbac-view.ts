// The RBAC objects of one member, compiled so that a question looks only at the user's own bindings. A binding may come
// before its role, and a role may change under its bindings, so bindings hold the role's name.
import { mastersGroup } from '../../auth/callers/reserved.ts';
import type { User } from '../../cache/model/user.ts';
import type { ResourceType } from '../types.ts';
import { intersectGrants, isNothing, makeGrant, noGrant } from './grants.ts';
import type { GrantedName } from './grants.ts';
import { reachOfRules, readBinding, readRules, subjectKeysOf } from './rbac.ts';
import type { Binding, PolicyRule, RoleReference, RuleReach, SubjectKey } from './rbac.ts';
import type { Grant } from './scope.ts';

/** Verbs that rows are shown for. */
export type RowVerb = 'get' | 'list' | 'watch';

/** What a view is made of. */
export type RbacKind = 'roles' | 'rolebindings' | 'clusterroles' | 'clusterrolebindings' | 'namespaces';

/** A type with what decides whether RoleBindings matter for it. */
export interface ScopedType extends ResourceType {
  /** Undefined while it is unknown. */
  readonly namespaced: boolean | undefined;
}

/** RBAC of one incarnation. */
export interface RbacView {
  /** Another number after every change of roles and bindings. */
  readonly generation: number;
  /** Names of the Namespaces there are. */
  readonly namespaces: ReadonlySet<string>;
  /**
   * Rows of the type that the member would show this user: by a list or watch of all, of a namespace or of a name, or
   * by a get of each.
   */
  grant(user: Pick<User, 'name' | 'groups'>, verb: RowVerb, type: ScopedType): Grant;
}

/** A view that can be fed. */
export interface RbacFeed extends RbacView {
  /**
   * @param object the parsed object, undefined when it is gone
   * @returns whose rights may have changed; undefined: anybody's may
   */
  put(kind: RbacKind, namespace: string, name: string, object: unknown): Iterable<SubjectKey> | undefined;
}

const noRules: readonly PolicyRule[] = Object.freeze([]);

type Subject = Pick<User, 'name' | 'groups'>;

/**
 * An empty view.
 * @param nextGeneration gives a number that no view has had, so that a view which replaces another is not taken for it
 */
export function makeRbacView(nextGeneration: () => number): RbacFeed {
  return new CompiledRbac(nextGeneration);
}

class CompiledRbac implements RbacFeed {
  readonly namespaces = new Set<string>();
  readonly #roles = new Map<string, readonly PolicyRule[]>();
  readonly #bindings = new Map<string, Binding>();
  readonly #bySubject = new Map<SubjectKey, Set<Binding>>();
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
    // A watch from the beginning shows what a list would, so what may be watched must also be allowed to be listed.
    const listed = this.#granted(user, 'list', type);
    return isNothing(listed) ? noGrant : intersectGrants(listed, this.#granted(user, 'watch', type));
  }

  put(kind: RbacKind, namespace: string, name: string, object: unknown): Iterable<SubjectKey> | undefined {
    const isNamespaced = kind === 'roles' || kind === 'rolebindings';
    // A namespaced object without a namespace, or the other way round, is a member's fault and grants nothing.
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
    const binding = object === undefined ? undefined : readBinding(object, namespace);
    if (binding !== undefined) this.#bind(key, binding);
    return [...(before?.subjects ?? []), ...(binding?.subjects ?? [])];
  }

  *#boundTo(role: string): Generator<SubjectKey> {
    for (const binding of this.#bindings.values()) if (roleKey(binding.role) === role) yield* binding.subjects;
  }

  #bind(key: string, binding: Binding): void {
    this.#bindings.set(key, binding);
    for (const subject of binding.subjects) {
      const bound = this.#bySubject.get(subject);
      if (bound === undefined) this.#bySubject.set(subject, new Set([binding]));
      else bound.add(binding);
    }
  }

  #unbind(key: string): Binding | undefined {
    const old = this.#bindings.get(key);
    if (old === undefined) return undefined;
    this.#bindings.delete(key);
    for (const subject of old.subjects) {
      const bound = this.#bySubject.get(subject);
      bound?.delete(old);
      if (bound?.size === 0) this.#bySubject.delete(subject);
    }
    return old;
  }

  #granted(user: Subject, verb: RowVerb, type: ScopedType): Grant {
    const reaches = new Map<readonly PolicyRule[], RuleReach>();
    const isNamespace = type.group === '' && type.resource === 'namespaces';
    const inNamespaces: string[] = [];
    const names: GrantedName[] = [];
    for (const subject of subjectKeysOf(user)) {
      for (const binding of this.#bySubject.get(subject) ?? []) {
        const { namespace } = binding;
        // A request for one Namespace is a request in it (apiserver:pkg/endpoints/request); nothing else without a
        // namespace is in one.
        if (namespace !== '' && (isNamespace ? verb !== 'get' : type.namespaced === false)) continue;
        const rules = this.#roles.get(roleKey(binding.role)) ?? noRules;
        let reach = reaches.get(rules);
        if (reach === undefined) reaches.set(rules, (reach = reachOfRules(rules, verb, type)));
        if (namespace === '') {
          if (reach === 'all') return 'all';
          for (const name of reach) names.push({ namespace: undefined, name });
        } else if (isNamespace) {
          if (reach === 'all' || reach.has(namespace)) names.push({ namespace: undefined, name: namespace });
        } else if (reach === 'all') inNamespaces.push(namespace);
        else for (const name of reach) names.push({ namespace, name });
      }
    }
    return inNamespaces.length + names.length === 0 ? noGrant : makeGrant(inNamespaces, names);
  }
}

function roleKey({ kind, namespace, name }: RoleReference): string {
  return kind === 'Role' ? `${namespace}/${name}` : `/${name}`;
}
