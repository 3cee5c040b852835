// A client of an API server in memory, as client-go's fake clientset: discovery, requests and watches by path over an
// object tracker, merge patches and the status subresource, as kube-apiserver has them.
import type { ApiAnswer, ApiCall, ApiClient, ApiObject, ApiStream } from '../../kube/types.ts';
import { ObjectTracker } from './object-tracker.ts';

type Json = Record<string, any>;

/** A type that the API server serves. */
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

export class FakeClient implements ApiClient {
  readonly url = 'https://hub.test';
  /** `METHOD path` of each write request that the server received. */
  readonly writes: string[] = [];
  /** Requests that the server answers with 403, each as `verb resource`. */
  readonly forbidden = new Set<string>();
  /** Called for every write request, which fails with the returned answer; undefined lets the server handle it. */
  refuse: (call: ApiCall) => ApiAnswer | undefined = () => undefined;
  /** For each API group, how often its discovery was requested. */
  readonly discoveries = new Map<string, number>();
  readonly #types: FakeType[] = [];
  readonly #tracker = new ObjectTracker();

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
    const { namespace, name } = object['metadata'];
    const old = this.get(collection, name, namespace);
    const metadata = { ...old?.['metadata'], ...object['metadata'] };
    return this.#tracker.apply(collection, { ...old, ...object, metadata });
  }

  get(collection: string, name: string, namespace?: string): Json | undefined {
    return this.#tracker.get({ collection, namespace, name });
  }

  /** Returns the names of all objects of a collection. */
  names(collection: string): string[] {
    return this.#tracker.list(collection).map(({ metadata }) => metadata.name);
  }

  /** Deletes an object and the objects that it owns, as `kubectl delete` does. */
  remove(collection: string, name: string, namespace?: string): void {
    this.#tracker.delete({ collection, namespace, name });
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
    const stop = this.#tracker.watch(path.collection, path.namespace, since, (event) => {
      waiting.push(Buffer.from(`${JSON.stringify(event)}\n`));
      wake();
    });
    const close = (): void => {
      ended.abort();
      stop?.();
      wake();
    };
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
    const { collection, namespace } = path;
    const old = this.#tracker.get(path);
    if (call.method === 'GET' && path.name === '') {
      const metadata = { resourceVersion: this.#tracker.version };
      return answer(200, { metadata, items: this.#tracker.list(collection, namespace) });
    }
    if (call.method === 'POST') {
      const object = call.body as Json;
      const isThere = this.#tracker.get({ collection, namespace, name: object['metadata'].name }) !== undefined;
      return isThere ? status(409, 'AlreadyExists') : answer(201, this.#tracker.apply(collection, object));
    }
    if (old === undefined) return status(404, 'NotFound');
    if (call.method === 'GET') return answer(200, old);
    if (call.method === 'DELETE') {
      const { preconditions } = (call.body ?? {}) as Json;
      if (preconditions !== undefined && preconditions.uid !== old['metadata'].uid) return status(409, 'Conflict');
      this.#tracker.delete(path);
      return answer(200, old);
    }
    const body = call.body as Json;
    const { uid = old['metadata'].uid, resourceVersion = old['metadata'].resourceVersion } = body['metadata'] ?? {};
    if (uid !== old['metadata'].uid || resourceVersion !== old['metadata'].resourceVersion)
      return status(409, 'Conflict');
    const merged = call.method === 'PUT' ? body : merge(old, body);
    const isStatus = path.subresource === 'status';
    const after = isStatus ? { ...old, status: merged['status'] } : { ...merged, status: old['status'] };
    return answer(200, this.#tracker.apply(collection, after));
  }
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
