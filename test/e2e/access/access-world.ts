// Random rules and questions about them. They share a small vocabulary, or hardly any question would be allowed by
// anything: verbs, resources with and without subresources, names, paths, and stars wherever RBAC has one.
import type { Asked, AskedPath } from '../index/index-rights-member.ts';
import { objectNames, worldNamespaces } from '../index/index-rights-world.ts';
import type { DrawRule, Pick } from '../index/index-rights-world.ts';

const rbac = 'rbac.authorization.k8s.io';

interface Resource {
  readonly group: string;
  readonly resource: string;
  readonly subresources: readonly string[];
}

const resources: readonly Resource[] = [
  { group: '', resource: 'pods', subresources: ['log', 'exec', 'status'] },
  { group: '', resource: 'secrets', subresources: [] },
  { group: '', resource: 'configmaps', subresources: [] },
  { group: '', resource: 'serviceaccounts', subresources: ['token'] },
  { group: '', resource: 'namespaces', subresources: ['status', 'finalize'] },
  { group: '', resource: 'nodes', subresources: ['proxy', 'status'] },
  { group: '', resource: 'users', subresources: [] },
  { group: 'apps', resource: 'deployments', subresources: ['scale', 'status'] },
  { group: 'apps', resource: 'replicasets', subresources: ['scale', 'status'] },
  { group: rbac, resource: 'clusterroles', subresources: [] },
  { group: rbac, resource: 'roles', subresources: [] },
  // No API server has these.
  { group: 'example.org', resource: 'widgets', subresources: ['scale'] },
];
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const rareVerbs = ['impersonate', 'bind', 'escalate', 'use', '*'];
const names = [...objectNames, 'n1'];
const paths = ['/', '/metrics', '/metrics/cadvisor', '/healthz', '/healthz/etcd', '/debug', '/debug/pprof', '/version'];
const pathPatterns = [
  ['/metrics'],
  ['/metrics/*'],
  ['/healthz*'],
  ['/debug/**'],
  ['*'],
  ['/', '/version'],
  ['/deb*ug'],
];

/** One rule, narrow most of the time. */
export const drawRule: DrawRule = (pick, kind) => {
  if (kind === 'ClusterRole' && pick([true, false, false, false, false]))
    return { verbs: pick([['get'], ['get', 'post'], ['*']]), nonResourceURLs: pick(pathPatterns) };
  const one = pick(resources);
  const other = pick(resources);
  const resourceNames = pick([undefined, undefined, undefined, [pick(names)], ['a', 'b'], ['', 'c'], worldNamespaces]);
  return {
    verbs: pick([['get', 'list', 'watch'], [pick(verbs)], [pick(verbs), pick(verbs)], [pick(rareVerbs)], ['*']]),
    apiGroups: pick([[one.group], [one.group, other.group], ['*']]),
    resources: pick([
      [one.resource],
      [one.resource, other.resource],
      [withSubresource(pick, one)],
      [withSubresource(pick, one), other.resource],
      [pick(['*', '*/status', '*/scale', `${one.resource}/*`])],
    ]),
    ...(resourceNames === undefined ? {} : { resourceNames }),
  };
};

function withSubresource(pick: Pick, { resource, subresources }: Resource): string {
  return subresources.length === 0 ? resource : `${resource}/${pick(subresources)}`;
}

/** One request that somebody could make. */
export function drawQuestion(pick: Pick): Asked | AskedPath {
  if (pick([true, false, false, false, false, false, false, false]))
    return { verb: pick(['get', 'get', 'post', '*']), path: pick(paths) };
  const type = pick(resources);
  return {
    verb: pick([pick(verbs), pick(verbs), pick(verbs), pick(rareVerbs)]),
    type,
    subresource: pick(['', '', pick(['', ...type.subresources]), pick(['status', 'scale', '*'])]),
    namespace: pick(['', ...worldNamespaces]),
    name: pick(['', '', pick(names), pick(names), 'nobody-has-this-name']),
  };
}

/** Questions that leave name, namespace or both open: `any` stands for whatever there is. */
export interface OpenQuestion {
  readonly asked: Asked;
  readonly anyName: boolean;
  readonly anyNamespace: boolean;
}

/** One of them, about objects in namespaces. */
export function drawOpenQuestion(pick: Pick): OpenQuestion {
  const types = resources.filter(({ resource }) => ['pods', 'secrets', 'configmaps', 'deployments'].includes(resource));
  const asked = { verb: pick(verbs), type: pick(types), subresource: '', namespace: pick(worldNamespaces), name: 'a' };
  const [anyName, anyNamespace] = pick([
    [true, true],
    [true, false],
    [false, true],
  ] as const);
  return { asked, anyName, anyNamespace };
}

/**
 * The requests that an open question stands for. A create of an object has no name in its path, nor has a
 * deletecollection.
 */
export function requestsOf({ asked, anyName, anyNamespace }: OpenQuestion): readonly Asked[] {
  const nameless = ['create', 'deletecollection'].includes(asked.verb);
  const named = !anyName ? [asked.name] : nameless ? [''] : ['', ...names, ...worldNamespaces];
  const placed = anyNamespace ? ['', ...worldNamespaces] : [asked.namespace];
  return placed.flatMap((namespace) => named.map((name) => ({ ...asked, namespace, name })));
}
