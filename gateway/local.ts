// Answers what the gateway serves itself: health, version, discovery, OpenAPI, clusters. Easy to get wrong: all of it is answered from
// memory, before any member is asked, or discovery would be as slow as the slowest cluster.
import { GatewayError } from '../cache/errors.ts';
import { headerValues } from '../routing/headers.ts';
import { acceptedForm } from './accept.ts';
import { answerClusters, watchClusters } from './clusters.ts';
import type { ClustersApi } from './clusters.ts';
import { aggregatedApi, aggregatedApis, aggregatedMediaType, etagOf, legacyDiscovery } from './discovery.ts';
import type { Authorized } from './exchange.ts';
import { healthResponse } from './health.ts';
import type { HealthCheck } from './health.ts';
import { openapiV2, openapiV3Group, openapiV3Index } from './openapi.ts';
import { jsonResponse } from './status.ts';
import type { CompleteResponse } from './status.ts';

/** What local answers are made of. */
export interface LocalParts {
  readonly clusters: ClustersApi;
  readonly checks: readonly HealthCheck[];
  /** Version of Portcullis, from package.json. */
  readonly version: string;
}

/** Makes the function behind the chain's dispatch step. */
export function makeLocalAnswers(parts: LocalParts): (state: Authorized) => void | Promise<void> {
  const openapiHash = etagOf(openapiV3Group).slice(1, 65);
  return (state) => {
    const { surface, info } = state;
    if (surface.kind === 'clusters' && surface.name === undefined && info.verb === 'watch') {
      return watchClusters(state, parts.clusters);
    }
    if (surface.kind !== 'clusters' && state.inbound.method !== 'GET' && state.inbound.method !== 'HEAD') {
      throw new GatewayError('METHOD_NOT_ALLOWED', 'only GET is served here');
    }
    sendComplete(state, respond(state, parts, openapiHash));
    return undefined;
  };
}

function respond(state: Authorized, parts: LocalParts, openapiHash: string): CompleteResponse {
  const { surface, auditId } = state;
  switch (surface.kind) {
    case 'health':
      return healthResponse(surface, state.target.query, parts.checks, auditId);
    case 'version':
      return jsonResponse(versionInfo(parts.version), auditId);
    case 'openapi':
      if (surface.document === 'v2') return jsonResponse(openapiV2, auditId);
      return jsonResponse(surface.document === 'v3' ? openapiV3Index(openapiHash) : openapiV3Group, auditId);
    case 'clusters':
      return answerClusters(state, surface.name, parts.clusters);
    case 'discovery':
      return discoveryResponse(state, surface.document);
    case 'member':
      throw new Error('a request for a member was dispatched locally');
  }
}

function discoveryResponse(state: Authorized, document: keyof typeof legacyDiscovery): CompleteResponse {
  if (document !== 'api' && document !== 'apis') return jsonResponse(legacyDiscovery[document], state.auditId);
  const { as } = acceptedForm(state.inbound.headers, ['APIGroupDiscoveryList', '']);
  if (as === '') return jsonResponse(legacyDiscovery[document], state.auditId);
  const aggregated = document === 'api' ? aggregatedApi : aggregatedApis;
  const etag = etagOf(aggregated);
  if (headerValues(state.inbound.headers, 'if-none-match').includes(etag)) {
    return { status: 304, headers: ['ETag', etag, 'Audit-Id', state.auditId], body: Buffer.alloc(0) };
  }
  const response = jsonResponse(aggregated, state.auditId, aggregatedMediaType);
  response.headers.push('ETag', etag, 'Vary', 'Accept');
  return response;
}

function sendComplete(state: Authorized, { status, headers, body }: CompleteResponse): void {
  const { inbound, progress } = state;
  const bodyless = inbound.method === 'HEAD' || status === 304;
  progress.status = status;
  inbound.respond(status, headers, bodyless);
  if (!bodyless) {
    progress.bytesOut += body.length;
    inbound.write(body);
  }
  inbound.end();
}

/** `version.Info` of apimachinery; minor is what API level we speak, gitVersion is our own. */
function versionInfo(version: string): object {
  const [major = '0', minor = '0'] = version.split('.');
  return {
    major,
    minor,
    gitVersion: `v${version}`,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '',
    goVersion: '',
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
