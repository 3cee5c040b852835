// For tests of rights: an in-memory store with rows and a log, cluster records, and short ways to write RBAC objects.
// The store obeys scopes, so a mirror that does not ask for a type does not get it.
import type { Rule } from '../auth/rules/rules.ts';
import { makeUser } from '../model/user.ts';
import type { User } from '../model/user.ts';
import { unknownStatus } from '../model/store.ts';
import type { ClusterRecord } from '../model/records.ts';
import { GatewayError } from '../model/errors.ts';
import type { IndexStore, LogEntry, RowRead, StoredType } from '../store/store.ts';
import { typeKey } from '../query/types.ts';
import type { Incarnation, TypeInfo } from '../query/types.ts';
import { grantAllows } from '../query/scope/grants.ts';
import { mirroredTypes } from './mirror.ts';
import type { MirroredStore } from './mirror.ts';
import { rbacGroup } from '../lib/objects/api-names.ts';

export interface TestObject {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

export interface TestStore extends MirroredStore, Pick<IndexStore, 'catalogVersion'> {
  /** Commits one change. `object: undefined` deletes. */
  put(incarnation: Incarnation, resource: string, namespace: string, name: string, object: object | undefined): void;
  /** Puts RBAC objects and Namespaces, each by its kind. */
  putAll(incarnation: Incarnation, objects: readonly TestObject[]): void;
  remove(incarnation: Incarnation, object: TestObject): void;
  /** Sets when every RBAC type of the incarnation was last confirmed, in Unix milliseconds. */
  confirm(incarnation: Incarnation, confirmedAtMs: number): void;
  /** Drops all log entries so far. */
  trim(): void;
  readonly reads: { lists: number; changes: number };
}

const resources: Readonly<Record<string, string>> = {
  Role: 'roles',
  RoleBinding: 'rolebindings',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Namespace: 'namespaces',
};

/** Makes an empty store for RBAC objects and Namespaces. */
export function makeTestStore(): TestStore {
  const rows = new Map<string, RowRead>();
  const log: LogEntry[] = [];
  const positions = new Map<string, { incarnation: Incarnation; confirmedAtMs: number }>();
  const listeners = new Set<(resourceVersion: string) => void>();
  const reads = { lists: 0, changes: 0 };
  let version = 1_000_000_000_000_000_000n;
  let oldest = version;
  let confirmations = 0;

  const put: TestStore['put'] = (incarnation, resource, namespace, name, object) => {
    const type = typeKey({ group: resource === 'namespaces' ? '' : rbacGroup, resource });
    const key = JSON.stringify([incarnation.id, type, namespace, name]);
    const raw = object === undefined ? undefined : Buffer.from(JSON.stringify(object));
    const before = rows.get(key);
    const row = { type, cluster: incarnation.cluster, incarnation: incarnation.id, namespace, name, uid: key };
    if (raw === undefined) rows.delete(key);
    else rows.set(key, { ...row, raw });
    version += 1000n;
    log.push({ ...row, resourceVersion: String(version), before: before?.raw, after: raw });
    for (const listener of listeners) listener(String(version));
  };
  const place = (object: TestObject): readonly [resource: string, namespace: string, name: string] => {
    return [resources[object.kind]!, object.metadata.namespace ?? '', object.metadata.name];
  };

  return {
    put,
    putAll: (incarnation, objects) => {
      for (const object of objects) put(incarnation, ...place(object), object);
    },
    remove: (incarnation, object) => put(incarnation, ...place(object), undefined),
    confirm: (incarnation, confirmedAtMs) => {
      confirmations += 1;
      positions.set(incarnation.id, { incarnation, confirmedAtMs });
    },
    trim: () => {
      log.length = 0;
      oldest = version;
    },
    reads,
    catalogVersion: async () => String(confirmations),
    types: async (only) => {
      const asked = [...positions.values()].filter(({ incarnation: { id } }) => only === undefined || id === only);
      return asked.flatMap(({ incarnation, confirmedAtMs }) =>
        [...mirroredTypes, { group: '', resource: 'pods' }, { group: '', resource: 'nodes' }].map(
          (type): StoredType => {
            const namespaced = ['roles', 'rolebindings', 'pods'].includes(type.resource);
            const info: TypeInfo = {
              ...type,
              version: 'v1',
              versions: ['v1'],
              kind: type.resource,
              singular: '',
              shortNames: [],
              categories: [],
              namespaced,
              convertible: false,
            };
            return { incarnation, type: info, position: { resourceVersion: '1', confirmedAtMs }, objects: 0 };
          },
        ),
      );
    },
    list: async (query, scope) => {
      reads.lists += 1;
      const types = new Set(query.types.map(typeKey));
      const found = [...rows.values()].filter((row) => {
        const grant = scope.grants.get(row.incarnation)?.get(row.type);
        return types.has(row.type) && grant !== undefined && grantAllows(grant, row.namespace, row.name);
      });
      const chunks = (async function* () {
        for (const row of found) yield [row];
      })();
      return {
        resourceVersion: String(version),
        rightsVersion: String(version),
        next: undefined,
        remaining: undefined,
        chunks,
      };
    },
    changes: async (resourceVersion, types, limit) => {
      reads.changes += 1;
      if (BigInt(resourceVersion) < oldest) throw new GatewayError('EXPIRED', 'older than the log');
      return log
        .filter((entry) => entry.resourceVersion > resourceVersion && types.includes(entry.type))
        .slice(0, limit);
    },
    onCommit: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    resourceVersion: () => String(version),
    oldestResourceVersion: async () => String(oldest),
  };
}

/** An incarnation of the cluster that {@link testRecord} makes for the same name. */
export function testIncarnation(cluster: string, life = 1): Incarnation {
  return { id: `uid-${cluster}/life-${life}`, cluster };
}

export function testRecord(name: string, labels: Readonly<Record<string, string>> = {}): ClusterRecord {
  return Object.freeze({
    spec: Object.freeze({
      name,
      originalName: name,
      uid: `uid-${name}`,
      source: 'test',
      sourceDetail: 'test',
      labels,
      endpoint: undefined,
      tls: { ca: undefined, serverName: undefined, insecure: false },
      proxy: undefined,
      credential: undefined,
      transportKey: name,
      problem: undefined,
    }),
    status: unknownStatus,
    createdAt: '2026-01-01T00:00:00Z',
    resourceVersion: '1',
  });
}

export function testUser(name: string, ...groups: readonly string[]): User {
  return makeUser({ name, groups: [...groups, 'system:authenticated'] });
}

/** A PolicyRule. `verbs` are joined by commas; `resource` is like `pods` or `deployments.apps`. */
export function rule(verbs: string, resource: string, ...resourceNames: readonly string[]): object {
  const [plural = '', ...group] = resource.split('.');
  return {
    verbs: verbs.split(','),
    apiGroups: [group.join('.')],
    resources: [plural],
    ...(resourceNames.length === 0 ? {} : { resourceNames }),
  };
}

export function role(name: string, namespace: string | undefined, ...rules: readonly object[]): TestObject {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role';
  return { kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) }, rules };
}

/** A binding of subjects (`User/jane`, `Group/dev`, `ServiceAccount/ns/name`) to a role (`Role/x`, `ClusterRole/x`). */
export function binding(
  name: string,
  namespace: string | undefined,
  reference: string,
  ...subjects: readonly string[]
): TestObject {
  const [kind, roleName] = reference.split('/');
  return {
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    roleRef: { apiGroup: rbacGroup, kind, name: roleName },
    subjects: subjects.map((subject) => {
      const [subjectKind, one, two] = subject.split('/');
      return two === undefined ? { kind: subjectKind, name: one } : { kind: subjectKind, namespace: one, name: two };
    }),
  };
}

/** A rule of the gateway that lets everybody do everything, but for what `part` says. */
export function allowRule(part: Partial<Rule>): Rule {
  return {
    subjects: [{ kind: 'Group', name: 'system:authenticated' }],
    clusters: [],
    clusterSelector: undefined,
    verbs: ['*'],
    apiGroups: ['*'],
    resources: ['*'],
    resourceNames: [],
    namespaces: [],
    nonResourceURLs: [],
    ...part,
  };
}
