// A process that imitates many API servers, each with just enough endpoints for a gateway to index it. Their lists
// contain the same bytes as Clusterpedia's rows, so that all compared stores hold the same objects. Run it as `node
// stub-members.ts CERT KEY RESOURCES NAME:FIRST:COUNT…`: each member NAME has the objects of COUNT generated clusters
// from FIRST on, of the types in RESOURCES (separated by commas). It prints the ports of the members as JSON.
import { LRUCache } from 'lru-cache';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { clusterObjects } from '../generator.ts';

const [certFile, keyFile, resources, ...members] = process.argv.slice(2) as [string, string, string, ...string[]];
const served = new Set(resources.split(','));
const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
const resourceVersion = '2000000';

interface Member {
  readonly name: string;
  readonly first: number;
  readonly count: number;
}

const verbs = ['get', 'list', 'watch'];
const resource = (plural: string, kind: string, scope: string) => ({
  resource: plural,
  responseKind: { group: '', version: 'v1', kind },
  scope,
  singularResource: kind.toLowerCase(),
  verbs,
});
const rbac = 'rbac.authorization.k8s.io';
const groups: Readonly<Record<string, readonly ReturnType<typeof resource>[]>> = {
  '': [
    resource('pods', 'Pod', 'Namespaced'),
    resource('configmaps', 'ConfigMap', 'Namespaced'),
    resource('nodes', 'Node', 'Cluster'),
    resource('namespaces', 'Namespace', 'Cluster'),
  ],
  apps: [resource('deployments', 'Deployment', 'Namespaced'), resource('replicasets', 'ReplicaSet', 'Namespaced')],
  [rbac]: [
    resource('roles', 'Role', 'Namespaced'),
    resource('rolebindings', 'RoleBinding', 'Namespaced'),
    resource('clusterroles', 'ClusterRole', 'Cluster'),
    resource('clusterrolebindings', 'ClusterRoleBinding', 'Cluster'),
  ],
};
const always = new Set(['namespaces', ...groups[rbac]!.map((each) => each.resource)]);

function discovery(names: readonly string[]): object {
  const items = names.map((name) => {
    const list = groups[name]!.filter((each) => always.has(each.resource) || served.has(each.resource));
    return { metadata: { name }, versions: [{ version: 'v1', resources: list, freshness: 'Current' }] };
  });
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
}
const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const known: Readonly<Record<string, object>> = {
  '/version': { major: '1', minor: '36', gitVersion: 'v1.36.3' },
  '/api': discovery(['']),
  '/apis': discovery(['apps', rbac]),
};

/**
 * Objects of the members that were asked last, as JSON by resource. Only 16 members are kept, because the objects of
 * all members would take gigabytes.
 */
const generated = new LRUCache<string, ReadonlyMap<string, readonly string[]>>({ max: 16 });

function objectsOf({ name, first, count }: Member): ReadonlyMap<string, readonly string[]> {
  let objects = generated.get(name);
  if (objects === undefined) {
    const all = Array.from({ length: count }, (_, i) => [...clusterObjects(first + i)]).flat();
    const byResource = Map.groupBy(all, (object) => object.resource);
    objects = new Map([...byResource].map(([key, list]) => [key, list.map(({ json }) => json)]));
    generated.set(name, objects);
  }
  return objects;
}

function listOf(member: Member, path: string, query: URLSearchParams): string {
  const parts = path.split('/');
  const all = served.has(parts.at(-1)!) ? (objectsOf(member).get(parts.at(-1)!) ?? []) : [];
  const at = Number(query.get('continue') ?? 0);
  const until = Math.min(all.length, at + (Number(query.get('limit')) || all.length));
  const more = until < all.length ? { continue: String(until), remainingItemCount: all.length - until } : {};
  const apiVersion = path.startsWith('/api/') ? 'v1' : `${parts[2]}/v1`;
  const head = JSON.stringify({ kind: 'List', apiVersion, metadata: { resourceVersion, ...more } });
  return `${head.slice(0, -1)},"items":[${all.slice(at, until).join(',')}]}`;
}

function answer(member: Member, request: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = request.url!.split('?');
  const parameters = new URLSearchParams(query);
  const send = (text: string, type = 'application/json'): void => {
    response.writeHead(200, { 'content-type': type });
    response.end(text);
  };
  if (request.method === 'POST') {
    // Every access review is answered with yes, and every rules review with no rules.
    send(JSON.stringify({ kind: 'Review', status: { allowed: true, resourceRules: [], nonResourceRules: [] } }));
  } else if (path === '/api/v1/namespaces/kube-system') {
    const metadata = { name: 'kube-system', uid: `kube-system-of-${member.name}` };
    send(JSON.stringify({ kind: 'Namespace', apiVersion: 'v1', metadata }));
  } else if (known[path] !== undefined) {
    send(JSON.stringify(known[path]), path === '/version' ? undefined : aggregatedType);
  } else if (!/^\/apis?\/.*\/[a-z]+$/.test(path) || path.includes('apiextensions')) {
    const isHealth = path.endsWith('z');
    response.writeHead(isHealth ? 200 : 404, { 'content-type': 'application/json' });
    response.end(isHealth ? 'ok' : '{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}');
  } else if (/^(?:1|true)$/.test(parameters.get('watch') ?? '')) {
    // A watch stays open, but no event ever comes.
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
  } else {
    send(listOf(member, path, parameters));
  }
}

const ports: number[] = [];
for (const text of members) {
  const [name, first, count] = text.split(':') as [string, string, string];
  const member = { name, first: Number(first), count: Number(count) };
  const server = createServer(tls, (request, response) => answer(member, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ports.push((server.address() as AddressInfo).port);
}
process.stdout.write(`${JSON.stringify(ports)}\n`);
