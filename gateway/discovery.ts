// What API groups there are, in the legacy and the aggregated form (apidiscovery.k8s.io/v2), so that plain kubectl finds `clusters`.
// Easy to get wrong: discovery must not depend on any member or on permissions; kubectl gives up on everything when it fails.
import { createHash } from 'node:crypto';
import { gatewayGroup, gatewayVersion } from './routes.ts';

const groupVersion = `${gatewayGroup}/${gatewayVersion}`;
const groupEntry = {
  name: gatewayGroup,
  versions: [{ groupVersion, version: gatewayVersion }],
  preferredVersion: { groupVersion, version: gatewayVersion },
};
const proxyVerbs = ['create', 'delete', 'get', 'patch', 'update'];

/** Legacy documents, one for each path. */
export const legacyDiscovery = {
  root: {
    paths: [
      '/apis',
      `/apis/${gatewayGroup}`,
      `/apis/${groupVersion}`,
      '/healthz',
      '/livez',
      '/openapi/v3',
      '/readyz',
      '/version',
    ],
  },
  api: { kind: 'APIVersions', versions: [], serverAddressByClientCIDRs: [] },
  apis: { kind: 'APIGroupList', apiVersion: 'v1', groups: [groupEntry] },
  group: { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry },
  version: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion,
    resources: [
      {
        name: 'clusters',
        singularName: 'cluster',
        namespaced: false,
        kind: 'Cluster',
        verbs: ['get', 'list', 'watch'],
        shortNames: ['pcl'],
        categories: ['portcullis'],
      },
      { name: 'clusters/proxy', singularName: '', namespaced: false, kind: 'Cluster', verbs: proxyVerbs },
    ],
  },
} as const;

const responseKind = { group: gatewayGroup, version: gatewayVersion, kind: 'Cluster' };

/** The aggregated document of `/apis`; that of `/api` is an empty list. */
export const aggregatedApis = aggregated([
  {
    metadata: { name: gatewayGroup },
    versions: [
      {
        version: gatewayVersion,
        freshness: 'Current',
        resources: [
          {
            resource: 'clusters',
            responseKind,
            scope: 'Cluster',
            singularResource: 'cluster',
            verbs: ['get', 'list', 'watch'],
            shortNames: ['pcl'],
            categories: ['portcullis'],
            subresources: [{ subresource: 'proxy', responseKind, verbs: proxyVerbs }],
          },
        ],
      },
    ],
  },
]);
export const aggregatedApi = aggregated([]);

function aggregated(items: readonly object[]): object {
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
}

/** Media type of the aggregated form. */
export const aggregatedMediaType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Quoted ETag of a document (RFC 9110 section 8.8.3), as kube-apiserver makes it: SHA-512 of the bytes. */
export function etagOf(document: unknown): string {
  return `"${createHash('sha512').update(JSON.stringify(document)).digest('hex').toUpperCase()}"`;
}
