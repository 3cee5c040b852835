// Answers discovery: /api, /apis, lists of groups and versions, the aggregated form (KEP-3352), and /version. kubectl
// requests the aggregated form first; from the content type of the answer it sees whether it got this form.
import { createHash } from 'node:crypto';
import { sendObject, sendPieces } from '../call/answer.ts';
import type { Call, Cluster } from '../call/cluster.ts';
import { headerValue } from '../wire/headers.ts';
import type { GroupVersions, Resource } from '../store/resources.ts';
import type { JsonObject } from '../model/types.ts';

const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

function wantsAggregated(call: Call): boolean {
  return (headerValue(call.rawHeaders, 'accept') ?? '').split(',').some((clause) => {
    const parts = clause.split(';').map((part) => part.trim());
    return (
      parts[0] === 'application/json' &&
      parts.includes('g=apidiscovery.k8s.io') &&
      parts.includes('v=v2') &&
      parts.includes('as=APIGroupDiscoveryList')
    );
  });
}

/** Answers a discovery path. Returns false when the path is no discovery path. */
export async function serveDiscovery(call: Call): Promise<boolean> {
  const { cluster, info } = call;
  const segments = info.path.split('/').filter((segment) => segment !== '');
  const groups = cluster.registry.groups();
  if (segments.length === 1 && (segments[0] === 'api' || segments[0] === 'apis')) {
    const isCore = segments[0] === 'api';
    const wanted = groups.filter(({ group }) => (group === '') === isCore);
    if (wantsAggregated(call)) await sendAggregated(call, wanted);
    else await sendObject(call, 200, isCore ? coreVersions(call) : groupList(wanted));
    return true;
  }
  const [prefix, first, second] = segments;
  if (prefix === 'api' && segments.length === 2) return sendResources(call, groups, '', first ?? '');
  if (prefix === 'apis' && segments.length === 3) return sendResources(call, groups, first ?? '', second ?? '');
  if (prefix === 'apis' && segments.length === 2) {
    const found = groups.find(({ group }) => group === first && group !== '');
    if (found === undefined) return false;
    await sendObject(call, 200, { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(found) });
    return true;
  }
  return false;
}

async function sendResources(
  call: Call,
  groups: readonly GroupVersions[],
  group: string,
  version: string,
): Promise<boolean> {
  const found = groups.find((entry) => entry.group === group)?.versions.find((entry) => entry.version === version);
  if (found === undefined) return false;
  const groupVersion = group === '' ? version : `${group}/${version}`;
  const resources = found.resources.flatMap((resource) => [
    {
      name: resource.plural,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: resource.verbs,
      ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
      ...(resource.categories.length === 0 ? {} : { categories: resource.categories }),
    },
    ...resource.subresources.map((sub) => ({
      name: `${resource.plural}/${sub.name}`,
      singularName: '',
      namespaced: resource.namespaced,
      ...(sub.group === resource.group && sub.version === resource.version
        ? {}
        : { group: sub.group, version: sub.version }),
      kind: sub.kind,
      verbs: sub.verbs,
    })),
  ]);
  await sendObject(call, 200, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources });
  return true;
}

function coreVersions(call: Call): JsonObject {
  const port = call.request.socket?.localPort ?? 443;
  const serverAddress = `127.0.0.1:${port}`;
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

function groupOf({ group, versions }: GroupVersions): JsonObject {
  const list = versions.map(({ version }) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: list, preferredVersion: list[0] };
}

function groupList(groups: readonly GroupVersions[]): JsonObject {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupOf) };
}

async function sendAggregated(call: Call, groups: readonly GroupVersions[]): Promise<void> {
  const items = groups.map(({ group, versions }) => ({
    metadata: { ...(group === '' ? {} : { name: group }), creationTimestamp: null },
    versions: versions.map(({ version, resources }) => ({
      version,
      resources: resources.map(aggregatedResource),
      freshness: 'Current',
    })),
  }));
  const body = JSON.stringify({
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items,
  });
  const etag = `"${createHash('sha256').update(body).digest('hex').toUpperCase()}"`;
  call.reply.setHeader('etag', etag);
  call.reply.setHeader('vary', 'Accept');
  if (headerValue(call.rawHeaders, 'if-none-match') === etag)
    call.reply.writeHead(304, { 'audit-id': call.auditId }).end();
  else await sendPieces(call, 200, aggregatedType, [body]);
}

function aggregatedResource(resource: Resource): JsonObject {
  return {
    resource: resource.plural,
    responseKind: { group: resource.group, version: resource.version, kind: resource.kind },
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: resource.verbs,
    ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
    ...(resource.categories.length === 0 ? {} : { categories: resource.categories }),
    ...(resource.subresources.length === 0
      ? {}
      : {
          subresources: resource.subresources.map((sub) => ({
            subresource: sub.name,
            responseKind: { group: sub.group, version: sub.version, kind: sub.kind },
            verbs: sub.verbs,
          })),
        }),
  };
}

/** The body of /version. */
export function versionInfo(cluster: Cluster): JsonObject {
  const [major = '1', minor = '0'] = cluster.version.replace(/^v/, '').split('.');
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Math.max(0, Number(minor) - 1)),
    gitVersion: cluster.version,
    gitCommit: 'simulated',
    gitTreeState: 'clean',
    buildDate: '2026-11-01T00:00:00Z',
    goVersion: 'none',
    compiler: 'none',
    platform: `${process.platform}/${process.arch}`,
  };
}
