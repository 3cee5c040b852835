// The RBAC objects of one member, compiled so that what one user may see is found by their own bindings alone. Easy to
// get wrong: a binding may come before its role, and a role may change under bindings, so bindings hold the role's name
// and it is looked up when a question is asked.
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
  /** Undefined while no member has told. */
  readonly namespaced: boolean | undefined;
}

/** RBAC of one incarnation. */
export interface RbacView {
  /** Another number after every change of roles and bindings. */
  readonly generation: number;
  /** Names of the Namespaces there are. */
  readonly namespaces: ReadonlySet<string>;
  /**
   * Rows of the type that the member shows to this user: a list or watch of all, of a namespace, of a name; a get of
   * each.
   */
  grant(user: Pick<User, 'name' | 'groups'>, verb: RowVerb, type: ScopedType): Grant;
}

/** A view that can be fed. */
export interface RbacFeed extends RbacView {
  /** @param object the parsed object, undefined when it is gone */
  put(kind: RbacKind, namespace: string, name: string, object: unknown): void;
}

const noRules: readonly PolicyRule[] = Object.freeze([]);

/**
 * An empty view.
 * @param nextGeneration gives a number that no view has had, so that one which replaces another is not taken for it
 */
export function makeRbacView(nextGeneration: () => number): RbacFeed {
  const roles = new Map<string, readonly PolicyRule[]>();
  const bindings = new Map<string, Binding>();
  const bySubject = new Map<SubjectKey, Set<Binding>>();
  const namespaces = new Set<string>();
  let generation = nextGeneration();

  const unbind = (key: string): void => {
    const old = bindings.get(key);
    if (old === undefined) return;
    bindings.delete(key);
    for (const subject of old.subjects) {
      const bound = bySubject.get(subject);
      bound?.delete(old);
      if (bound?.size === 0) bySubject.delete(subject);
    }
  };
  const bind = (key: string, binding: Binding): void => {
    bindings.set(key, binding);
    for (const subject of binding.subjects) {
      const bound = bySubject.get(subject);
      if (bound === undefined) bySubject.set(subject, new Set([binding]));
      else bound.add(binding);
    }
  };

  const granted = (user: Pick<User, 'name' | 'groups'>, verb: RowVerb, type: ScopedType): Grant => {
    const reaches = new Map<readonly PolicyRule[], RuleReach>();
    const reachOf = (binding: Binding): RuleReach => {
      const rules = roles.get(roleKey(binding.role)) ?? noRules;
      let reach = reaches.get(rules);
      if (reach === undefined) reaches.set(rules, (reach = reachOfRules(rules, verb, type)));
      return reach;
    };
    const isNamespace = type.group === '' && type.resource === 'namespaces';
    const inNamespaces: string[] = [];
    const names: GrantedName[] = [];
    for (const subject of subjectKeysOf(user)) {
      for (const binding of bySubject.get(subject) ?? []) {
        const { namespace } = binding;
        // A request for one Namespace is a request in it (apiserver:pkg/endpoints/request); nothing else without a
        // namespace is in one.
        if (namespace !== '' && (isNamespace ? verb !== 'get' : type.namespaced === false)) continue;
        const reach = reachOf(binding);
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
  };

  return {
    get generation() {
      return generation;
    },
    namespaces,
    grant: (user, verb, type) => {
      if (user.groups.includes(mastersGroup)) return 'all';
      if (verb !== 'watch') return granted(user, verb, type);
      // Whoever watches lists first; what may be watched but not listed would be shown by a watch from the beginning.
      const listed = granted(user, 'list', type);
      return isNothing(listed) ? noGrant : intersectGrants(listed, granted(user, 'watch', type));
    },
    put: (kind, namespace, name, object) => {
      const isNamespaced = kind === 'roles' || kind === 'rolebindings';
      // What a member could only say by mistake must not be read as the other kind.
      if (isNamespaced !== (namespace !== '')) return;
      if (kind === 'namespaces') {
        if (object === undefined) namespaces.delete(name);
        else namespaces.add(name);
        return;
      }
      generation = nextGeneration();
      if (kind === 'roles' || kind === 'clusterroles') {
        const key = roleKey({ kind: kind === 'roles' ? 'Role' : 'ClusterRole', namespace, name });
        if (object === undefined) roles.delete(key);
        else roles.set(key, readRules(object));
      } else {
        const key = `${namespace}/${name}`;
        unbind(key);
        const binding = object === undefined ? undefined : readBinding(object, namespace);
        if (binding !== undefined) bind(key, binding);
      }
    },
  };
}

function roleKey({ kind, namespace, name }: RoleReference): string {
  return kind === 'Role' ? `${namespace}/${name}` : `/${name}`;
}
