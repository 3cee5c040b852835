// A hub in memory, for tests of controllers: lists, watches, merge patches, the status subresource, finalizers and
// background garbage collection, as kube-apiserver and its controller manager have them.
import type { ApiAnswer, ApiCall, ApiClient, ApiObject, ApiStream } from '../kube/types.ts';

type Json = Record<string, any>;

/** A type that the fake hub serves. */
export interface FakeType {
  readonly group: string;
  readonly versions: readonly string[];
  readonly resource: string;
  readonly singular?: string;
}

export const clusterpediaTypes: readonly FakeType[] = [
  { group: 'policy.clusterpedia.io', versions: ['v1alpha1'], resource: 'clusterimportpolicies' },
  { group: 'policy.clusterpedia.io', versions: ['v1alpha1'], resource: 'pediaclusterlifecycles' },
  { group: 'cluster.clusterpedia.io', versions: ['v1alpha2'], resource: 'pediaclusters' },
  { group: 'cluster.clusterpedia.io', versions: ['v1alpha2'], resource: 'clustersyncresources' },
  { group: 'apiextensions.k8s.io', versions: ['v1'], resource: 'customresourcedefinitions' },
  { group: 'coordination.k8s.io', versions: ['v1'], resource: 'leases' },
  { group: '', versions: ['v1'], resource: 'secrets', singular: 'secret' },
];

interface Watch {
  readonly collection: string;
  readonly namespace: string | undefined;
  send(line: string): void;
}

export class FakeHub implements ApiClient {
  readonly url = 'https://hub.test';
  /** `METHOD path` of each write request that the fake hub received. */
  readonly writes: string[] = [];
  /** Requests that the fake hub answers with 403, each as `verb resource`. */
  readonly forbidden = new Set<string>();
  /** Called for every write request. The request fails with the returned answer; undefined lets the hub handle it. */
  refuse: (call: ApiCall) => ApiAnswer | undefined = () => undefined;
  /** For each API group, how often its discovery was requested. */
  readonly discoveries = new Map<string, number>();
  readonly #types: FakeType[] = [];
  readonly #objects = new Map<string, Json>();
  readonly #watches = new Set<Watch>();
  readonly #events: { readonly key: string; readonly type: string; readonly object: Json }[] = [];
  #version = 100;

  constructor(types: readonly FakeType[] = clusterpediaTypes) {
    this.#types.push(...types);
  }

  /** Begins to serve a type, and creates its CustomResourceDefinition. */
  serve(type: FakeType): void {
    this.#types.push(type);
    const name = `${type.resource}.${type.group}`;
    this.put('customresourcedefinitions.apiextensions.k8s.io', { metadata: { name } });
  }

  /** Stops serving one version of a type, and changes its CustomResourceDefinition. */
  retire(collection: string, version: string): void {
    for (const [index, type] of this.#types.entries()) {
      const name = `${type.resource}.${type.group}`;
      if (name !== collection) continue;
      this.#types[index] = { ...type, versions: type.versions.filter((each) => each !== version) };
      this.put('customresourcedefinitions.apiextensions.k8s.io', { metadata: { name }, spec: { without: version } });
    }
  }

  /** Makes discovery list one version of a type first, which is the preferred version. */
  prefer(collection: string, version: string): void {
    for (const [index, type] of this.#types.entries()) {
      if (`${type.resource}.${type.group}` !== collection) continue;
      const others = type.versions.filter((each) => each !== version);
      this.#types[index] = { ...type, versions: [version, ...others] };
    }
  }

  /** Creates or changes an object directly in the store, as if an administrator had done so. */
  put(collection: string, object: Json): ApiObject {
    const key = keyOf(collection, object['metadata'].namespace, object['metadata'].name);
    const old = this.#objects.get(key);
    const metadata = { ...old?.['metadata'], ...object['metadata'] };
    return this.#store(key, { ...old, ...object, metadata }, old) as ApiObject;
  }

  get(collection: string, name: string, namespace?: string): Json | undefined {
    return this.#objects.get(keyOf(collection, namespace, name));
  }

  /** Returns the names of all objects of a collection. */
  names(collection: string): string[] {
    return [...this.#objects]
      .filter(([key]) => key.startsWith(`${collection} `))
      .map(([, one]) => one['metadata'].name);
  }

  /** Deletes an object and the objects that it owns, as `kubectl delete` does. */
  remove(collection: string, name: string, namespace?: string): void {
    this.#delete(keyOf(collection, namespace, name));
  }

  async request(call: ApiCall): Promise<ApiAnswer> {
    const url = new URL(call.path, this.url);
    const parts = url.pathname.split('/').slice(1).map(decodeURIComponent);
    const discovered = this.#discover(parts);
    if (discovered !== undefined) return discovered;
    const path = readPath(parts);
    const type = this.#types.find(
      ({ group, versions, resource }) =>
        group === path.group && resource === path.resource && versions.includes(path.version),
    );
    if (type === undefined) return answer(404, { kind: 'Status', code: 404, reason: 'NotFound' });
    const verb = {
      GET: path.name === '' ? 'list' : 'get',
      POST: 'create',
      PUT: 'update',
      PATCH: 'patch',
      DELETE: 'delete',
    };
    if (this.forbidden.has(`${verb[call.method]} ${path.resource}`)) return status(403, 'Forbidden');
    if (call.method !== 'GET') {
      this.writes.push(`${call.method} ${url.pathname}`);
      const refused = this.refuse(call);
      if (refused !== undefined) return refused;
    }
    return this.#act(call, path);
  }

  async open(call: ApiCall): Promise<ApiStream> {
    const url = new URL(call.path, this.url);
    const path = readPath(url.pathname.split('/').slice(1));
    const since = Number(url.searchParams.get('resourceVersion'));
    const waiting: Buffer[] = [];
    let wake: () => void = () => undefined;
    const ended = new AbortController();
    const watch: Watch = {
      collection: path.collection,
      namespace: path.namespace,
      send(line) {
        waiting.push(Buffer.from(`${line}\n`));
        wake();
      },
    };
    const close = (): void => {
      ended.abort();
      this.#watches.delete(watch);
      wake();
    };
    this.#watches.add(watch);
    for (const event of this.#events) {
      if (Number(event.object['metadata'].resourceVersion) > since) sendTo(watch, event);
    }
    call.signal?.addEventListener('abort', close);
    async function* chunks(): AsyncGenerator<Buffer> {
      while (!ended.signal.aborted) {
        while (waiting.length > 0) yield waiting.shift()!;
        if (!ended.signal.aborted) await new Promise<void>((resolve) => (wake = resolve));
      }
    }
    return { status: 200, retryAfterMs: undefined, chunks: chunks(), close };
  }

  close(): void {}

  #discover(parts: readonly string[]): ApiAnswer | undefined {
    const isCore = parts[0] === 'api';
    const [group = '', version] = isCore ? ['', parts[1]] : [parts[1], parts[2]];
    if (parts.length > (isCore ? 2 : 3)) return undefined;
    const types = this.#types.filter((type) => type.group === group);
    if (types.length === 0) return status(404, 'NotFound');
    const versions = [...new Set(types.flatMap((type) => type.versions))];
    if (version !== undefined) {
      const served = types.filter((type) => type.versions.includes(version));
      return answer(200, {
        resources: served.map(({ resource, singular = '' }) => ({
          name: resource,
          singularName: singular,
          kind: 'Any',
        })),
      });
    }
    this.discoveries.set(group, (this.discoveries.get(group) ?? 0) + 1);
    const described = versions.map((each) => ({ version: each, groupVersion: `${group}/${each}` }));
    const named = { kind: 'APIGroup', name: group, versions: described, preferredVersion: described[0] };
    return answer(200, isCore ? { kind: 'APIVersions', versions } : named);
  }

  #act(call: ApiCall, path: Path): ApiAnswer {
    const key = keyOf(path.collection, path.namespace, path.name);
    const old = this.#objects.get(key);
    if (call.method === 'GET' && path.name === '') return this.#list(path);
    if (call.method === 'POST') {
      const object = structuredClone(call.body) as Json;
      const at = keyOf(path.collection, path.namespace, object['metadata'].name);
      if (this.#objects.has(at)) return status(409, 'AlreadyExists');
      return answer(201, this.#store(at, object, undefined));
    }
    if (old === undefined) return status(404, 'NotFound');
    if (call.method === 'GET') return answer(200, old);
    if (call.method === 'DELETE') {
      const { preconditions } = (call.body ?? {}) as Json;
      if (preconditions !== undefined && preconditions.uid !== old['metadata'].uid) return status(409, 'Conflict');
      this.#delete(key);
      return answer(200, old);
    }
    const body = call.body as Json;
    const { uid = old['metadata'].uid, resourceVersion = old['metadata'].resourceVersion } = body['metadata'] ?? {};
    if (uid !== old['metadata'].uid || resourceVersion !== old['metadata'].resourceVersion)
      return status(409, 'Conflict');
    const merged = call.method === 'PUT' ? body : merge(old, body);
    const isStatus = path.subresource === 'status';
    const after = isStatus ? { ...old, status: merged['status'] } : { ...merged, status: old['status'] };
    return answer(200, this.#store(key, after, old));
  }

  #list({ collection, namespace }: Path): ApiAnswer {
    const items = [...this.#objects]
      .filter(([key, one]) => key.startsWith(`${collection} `) && isIn(namespace, one))
      .map(([, one]) => one);
    return answer(200, { metadata: { resourceVersion: String(this.#version) }, items });
  }

  #store(key: string, object: Json, old: Json | undefined): Json {
    this.#version += 1;
    const isChanged = JSON.stringify(old?.['spec']) !== JSON.stringify(object['spec']);
    const metadata = {
      creationTimestamp: new Date(1_700_000_000_000 + this.#version * 1000).toISOString(),
      uid: `uid-${this.#version}`,
      ...old?.['metadata'],
      ...object['metadata'],
      generation: (old?.['metadata'].generation ?? 0) + (isChanged ? 1 : 0),
      resourceVersion: String(this.#version),
    };
    const stored = JSON.parse(JSON.stringify({ ...object, metadata })) as Json;
    if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0) {
      this.#drop(key, stored);
      return stored;
    }
    this.#objects.set(key, stored);
    this.#emit(key, old === undefined ? 'ADDED' : 'MODIFIED', stored);
    return stored;
  }

  #delete(key: string): void {
    const old = this.#objects.get(key);
    if (old === undefined) return;
    if ((old['metadata'].finalizers ?? []).length === 0) this.#drop(key, old);
    else if (old['metadata'].deletionTimestamp === undefined)
      this.#store(key, { ...old, metadata: { ...old['metadata'], deletionTimestamp: 'now' } }, old);
  }

  #drop(key: string, object: Json): void {
    this.#version += 1;
    this.#objects.delete(key);
    this.#emit(key, 'DELETED', {
      ...object,
      metadata: { ...object['metadata'], resourceVersion: String(this.#version) },
    });
    for (const [other, { metadata }] of this.#objects) {
      const owners = (metadata.ownerReferences ?? []) as Json[];
      if (owners.length > 0 && owners.every(({ uid }) => !this.#isThere(uid))) this.#delete(other);
    }
  }

  #isThere(uid: string): boolean {
    return [...this.#objects.values()].some(({ metadata }) => metadata.uid === uid);
  }

  #emit(key: string, type: string, object: Json): void {
    const event = { key, type, object };
    this.#events.push(event);
    for (const watch of this.#watches) sendTo(watch, event);
  }
}

function sendTo(watch: Watch, { key, ...event }: { key: string; type: string; object: Json }): void {
  if (key.startsWith(`${watch.collection} `) && isIn(watch.namespace, event.object)) watch.send(JSON.stringify(event));
}

interface Path {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  /** `resource.group` of the requested object, such as `deployments.apps`; only `resource` in the core group. */
  readonly collection: string;
}

function readPath(parts: readonly string[]): Path {
  const isCore = parts[0] === 'api';
  const [group, version, ...rest] = isCore ? ['', ...parts.slice(1)] : parts.slice(1);
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2;
  const [resource = '', name = '', subresource = ''] = isNamespaced ? rest.slice(2) : rest;
  return {
    group: group ?? '',
    version: version ?? '',
    namespace: isNamespaced ? rest[1] : undefined,
    resource,
    name,
    subresource,
    collection: isCore ? resource : `${resource}.${group}`,
  };
}

function keyOf(collection: string, namespace: string | undefined, name: string): string {
  return `${collection} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

function isIn(namespace: string | undefined, object: Json): boolean {
  return namespace === undefined || object['metadata'].namespace === namespace;
}

function merge(old: any, patch: any): any {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const after: Json = typeof old === 'object' && old !== null && !Array.isArray(old) ? { ...old } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete after[key];
    else after[key] = merge(after[key], value);
  }
  return after;
}

function status(code: number, reason: string, message: string = reason): ApiAnswer {
  return answer(code, { kind: 'Status', status: 'Failure', code, reason, message });
}

/** Makes an answer with a JSON body. */
export function answer(code: number, body: object): ApiAnswer {
  return { status: code, body: Buffer.from(JSON.stringify(body)) };
}
