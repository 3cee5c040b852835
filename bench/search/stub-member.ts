// A process that imitates an API server with pods only, just enough for a gateway to index them. Its lists contain the
// same bytes as the rows in PostgreSQL, so that both stores hold the same objects. Run it as `node stub-member.ts NAME
// FIRST COUNT CERT KEY`.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

import { clusterObjects } from './generator.ts';

const [name, first, count, certFile, keyFile] = process.argv.slice(2) as [string, string, string, string, string];
const resourceVersion = '2000000';
const pods = Array.from({ length: Number(count) }, (_, i) => [...clusterObjects(Number(first) + i)])
  .flat()
  .filter(({ kind }) => kind === 'Pod')
  .map(({ json }) => json);

const verbs = ['get', 'list', 'watch'];
const resource = (plural: string, kind: string, scope: string) => ({
  resource: plural,
  responseKind: { group: '', version: 'v1', kind },
  scope,
  singularResource: kind.toLowerCase(),
  verbs,
});
const rbac = 'rbac.authorization.k8s.io';
const core = [resource('pods', 'Pod', 'Namespaced'), resource('namespaces', 'Namespace', 'Cluster')];
const rights = [
  resource('roles', 'Role', 'Namespaced'),
  resource('rolebindings', 'RoleBinding', 'Namespaced'),
  resource('clusterroles', 'ClusterRole', 'Cluster'),
  resource('clusterrolebindings', 'ClusterRoleBinding', 'Cluster'),
];
const discovery = (group: string, resources: readonly object[]) => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: [{ metadata: { name: group }, versions: [{ version: 'v1', resources, freshness: 'Current' }] }],
});
const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

function listOf(path: string, query: URLSearchParams): string {
  const all = path === '/api/v1/pods' ? pods : [];
  const at = Number(query.get('continue') ?? 0);
  const until = Math.min(all.length, at + (Number(query.get('limit')) || all.length));
  const more = until < all.length ? { continue: String(until), remainingItemCount: all.length - until } : {};
  const [group, kind] = path.startsWith('/api/') ? ['v1', 'List'] : [`${rbac}/v1`, 'List'];
  const head = JSON.stringify({ kind, apiVersion: group, metadata: { resourceVersion, ...more } });
  return `${head.slice(0, -1)},"items":[${all.slice(at, until).join(',')}]}`;
}

const known: Readonly<Record<string, object>> = {
  '/version': { major: '1', minor: '36', gitVersion: 'v1.36.3' },
  '/api': discovery('', core),
  '/apis': discovery(rbac, rights),
  '/api/v1/namespaces/kube-system': {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name: 'kube-system', uid: `kube-system-of-${name}` },
  },
};

const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
  const [path = '', query = ''] = request.url!.split('?');
  const parameters = new URLSearchParams(query);
  const answer = (text: string, type = 'application/json'): void => {
    response.writeHead(200, { 'content-type': type });
    response.end(text);
  };
  if (request.method === 'POST') {
    // Allows everything in answer to every access review.
    answer(JSON.stringify({ kind: 'Review', status: { allowed: true, resourceRules: [], nonResourceRules: [] } }));
  } else if (known[path] !== undefined) {
    answer(JSON.stringify(known[path]), path.startsWith('/api') && path.length < 6 ? aggregatedType : undefined);
  } else if (!/^\/apis?\/.*\/[a-z]+$/.test(path) || path.includes('apiextensions')) {
    const isHealth = path.endsWith('z');
    response.writeHead(isHealth ? 200 : 404, { 'content-type': 'application/json' });
    response.end(isHealth ? 'ok' : '{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}');
  } else if (/^(?:1|true)$/.test(parameters.get('watch') ?? '')) {
    // A watch stays open, but no event ever comes.
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
  } else {
    answer(listOf(path, parameters));
  }
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
