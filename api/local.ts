// Answers what the gateway serves itself: health, version, discovery, OpenAPI and its own objects. These answers come
// from memory, so a slow member or hub cannot slow down discovery. Only writes to `clustergateways/health`, requests
// for ResourceRegistries and checks of rights to statistics may have to ask the hub. Requests for the index are passed
// on to the code of the index.
import { GatewayError } from '../model/errors.ts';
import type { ApiClient } from '../kube/types.ts';
import type { IdentityMode } from '../model/records.ts';
import { acceptedForm, acceptedRanges } from '../request/answer/accept.ts';
import { apiGroups, clusterGatewayGroup } from '../request/api-groups.ts';
import type { ApiGroup, ServedPlural } from '../request/api-groups.ts';
import { cachedDocument, documentResponse } from './discovery/cached-document.ts';
import { answerHealth, makeViewVersions } from './clusters/cluster-gateway-health.ts';
import { clusterGatewaysResource } from './clusters/cluster-gateways.ts';
import { clustersResource } from './clusters/clusters.ts';
import { aggregatedMediaType, makeDiscovery } from '../request/discovery.ts';
import type { ShownGroup } from '../request/discovery.ts';
import type { Authorized } from '../request/exchange.ts';
import { healthResponse } from './health.ts';
import type { HealthCheck } from './health.ts';
import type { ReadStatistics } from './clusters/request-statistics.ts';
import { answerIndex } from './index/index-answers.ts';
import type { IndexAnswers } from './index/index-answers.ts';
import { indexGroups } from '../request/index-groups.ts';
import type { AnswerRegistries } from './karmada/registries.ts';
import { makeOpenapi } from './discovery/openapi.ts';
import { openapiProtobufTypes } from './discovery/openapi-protobuf.ts';
import { answerSelfReview } from './self-review.ts';
import { sendComplete } from '../request/answer/send-complete.ts';
import { queryFlag, queryValue } from '../request/request-info.ts';
import type { Surface } from '../request/routes.ts';
import { answerResource } from './clusters/served-resource.ts';
import type { ServedResource } from './clusters/served-resource.ts';
import { watchResource } from './clusters/served-watch.ts';
import { answerStatistics } from './clusters/statistics.ts';
import type { WatchParts } from './clusters/served-watch.ts';
import { jsonResponse, notServed } from '../request/answer/status.ts';
import type { CompleteResponse } from '../request/answer/status.ts';
import { versionInfo } from './version.ts';
import { virtualClustersResource } from './clusters/virtual-clusters.ts';

/** The parts of the gateway that its own API needs to answer requests. */
export interface LocalParts {
  readonly clusters: WatchParts & { readonly identity: IdentityMode };
  /** Returns counts, rates and durations of the requests to each cluster, for the resource `statistics`. */
  readonly statistics: ReadStatistics;
  readonly checks: readonly HealthCheck[];
  /** Version of Portcullis, from package.json. */
  readonly version: string;
  /**
   * True to serve objects, discovery and OpenAPI of `cluster.core.oam.dev` as well. The proxy path of that group is
   * always served.
   */
  readonly clusterGatewayApi?: boolean;
  /** The hub, to which `clustergateways/health` is written; undefined when the gateway has no hub. */
  readonly hub?: ApiClient | undefined;
  /**
   * Answers requests for the index. Undefined when the index is off: then paths of the index get 404 and discovery does
   * not list them.
   */
  readonly index?: IndexAnswers | undefined;
  /** Answers requests for Karmada's ResourceRegistries; undefined when the gateway does not serve them. */
  readonly registries?: AnswerRegistries | undefined;
}

type LocalAnswer = (state: Authorized) => void | Promise<void>;
type SurfaceOf<K extends Surface['kind']> = Extract<Surface, { kind: K }>;

/**
 * Makes the function that answers a request for the gateway's own API. The function throws a GatewayError, or rejects
 * with one, when it cannot answer the request.
 */
export function makeLocalAnswers(parts: LocalParts): LocalAnswer {
  const { clusters, clusterGatewayApi = false } = parts;
  const groups = apiGroups.filter(({ name }) => clusterGatewayApi || name !== clusterGatewayGroup);
  const answerObjects = makeObjectAnswers(parts);
  const shown = parts.index === undefined ? [] : indexGroups(parts.registries !== undefined);
  const answerDocument = makeDocumentAnswers(parts, groups, shown);
  const indexDiscovery = makeDiscovery([], shown);
  return (state) => {
    const { surface } = state;
    if (surface.kind === 'index') {
      if (parts.index === undefined) throw notServed();
      const response = answerIndex(state, surface, parts.index, indexDiscovery);
      return response instanceof Promise ? response : sendComplete(state, response);
    }
    if (surface.kind === 'registries') {
      if (parts.registries === undefined) throw notServed();
      refuseWatchOfOne(state, 'resourceregistries', surface.name);
      return parts.registries(state, surface).then((later) => later && sendComplete(state, later));
    }
    if ('group' in surface && groups.every(({ name }) => name !== surface.group)) throw notServed();
    if (surface.kind === 'resource') {
      refuseWatchOfOne(state, surface.plural, surface.name);
      if (surface.plural !== 'statistics' && surface.name === undefined && state.info.verb === 'watch') {
        return watchResource(state, answerObjects.resource(surface.plural), clusters);
      }
      const response = answerObjects.answer(state, surface);
      if (response instanceof Promise) return response.then((later) => sendComplete(state, later));
      return sendComplete(state, response);
    }
    if (surface.kind === 'self-review') return answerSelfReview(state).then((later) => sendComplete(state, later));
    if (state.inbound.method !== 'GET' && state.inbound.method !== 'HEAD') {
      throw new GatewayError('METHOD_NOT_ALLOWED', 'only GET and HEAD are allowed on this path');
    }
    return sendComplete(state, answerDocument(state, surface));
  };
}

/**
 * Refuses a watch of one object by its name. kube-apiserver gives such a request the verb `get` and answers with the
 * object. But the client waits for events, and the right to get an object is not the right to watch it.
 * @throws GatewayError METHOD_NOT_ALLOWED
 */
function refuseWatchOfOne({ inbound, target }: Authorized, plural: string, name: string | undefined): void {
  const isRead = inbound.method === 'GET' || inbound.method === 'HEAD';
  if (!isRead || name === undefined || !queryFlag(target.query, 'watch')) return;
  throw new GatewayError(
    'METHOD_NOT_ALLOWED',
    `one of the ${plural} cannot be watched by its path; watch the list with fieldSelector=metadata.name=<name>`,
  );
}

type DocumentSurface = Exclude<Surface, { kind: 'index' | 'registries' | 'resource' | 'self-review' }>;

/** Makes the function that answers requests for health, version, OpenAPI and discovery. */
function makeDocumentAnswers(
  { clusters, checks, version }: LocalParts,
  groups: readonly ApiGroup[],
  shown: readonly ShownGroup[],
): (state: Authorized, surface: DocumentSurface) => CompleteResponse {
  const discovery = makeDiscoveryAnswers(groups, shown);
  const openapi = makeOpenapiAnswers(groups);
  return (state, surface) => {
    switch (surface.kind) {
      case 'health':
        return healthResponse(surface, state.target.query, checks, state.auditId);
      case 'version':
        return jsonResponse(versionInfo(version, clusters.store.list()), state.auditId);
      case 'openapi':
        return openapi(state, surface);
      case 'discovery':
        return discovery(state, surface);
      case 'console':
      case 'member':
        throw new Error(`a request of the kind ${surface.kind} was dispatched locally`);
    }
  };
}

/** The resources whose objects show only data of cluster records; therefore they can be watched. */
type StoredPlural = Exclude<ServedPlural, 'statistics'>;

interface ObjectAnswers {
  resource(plural: StoredPlural): ServedResource;
  answer(state: Authorized, surface: SurfaceOf<'resource'>): CompleteResponse | Promise<CompleteResponse>;
}

function makeObjectAnswers({ clusters, hub, statistics }: LocalParts): ObjectAnswers {
  const { store, identity, openStreams } = clusters;
  const resources = {
    clusters: clustersResource(identity),
    clustergateways: clusterGatewaysResource,
    virtualclusters: virtualClustersResource(store.resourceVersion),
  };
  const health = { store, hub, versions: makeViewVersions(store) };
  return {
    resource: (plural) => resources[plural],
    answer(state, { plural, name, subresource }) {
      if (plural === 'statistics') return answerStatistics(state, { store, openStreams, read: statistics }, name);
      if (subresource === 'health') return answerHealth(state, name!, health);
      return answerResource(state, resources[plural], store, name);
    },
  };
}

function makeDiscoveryAnswers(
  groups: readonly ApiGroup[],
  more: readonly ShownGroup[],
): (state: Authorized, surface: SurfaceOf<'discovery'>) => CompleteResponse {
  const documents = makeDiscovery(groups, more);
  const aggregated = new Map(
    (['api', 'apis'] as const).flatMap((document) =>
      ['v2', 'v2beta1'].map((version) => [
        `${document} ${version}`,
        cachedDocument(documents.aggregated(document, version), aggregatedMediaType(version)),
      ]),
    ),
  );
  return (state, surface) => {
    const plain = (document: object | undefined): CompleteResponse => {
      acceptedForm(state.headers, ['']);
      return jsonResponse(document, state.auditId);
    };
    if (surface.document === 'root') return plain(documents.root);
    if (surface.document === 'group') return plain(documents.groups.get(surface.group));
    if (surface.document === 'version') return plain(documents.resources.get(surface.group));
    const { as, version } = acceptedForm(state.headers, ['APIGroupDiscoveryList', '']);
    if (as !== '') {
      return documentResponse(aggregated.get(`${surface.document} ${version}`)!, state.headers, state.auditId);
    }
    const response = jsonResponse(documents[surface.document], state.auditId);
    response.headers.push('Vary', 'Accept');
    return response;
  };
}

/**
 * When the Accept header names one of these types, OpenAPI documents are sent as JSON (handler and handler3 of
 * kube-openapi).
 */
const openapiRanges: ReadonlySet<string> = new Set([
  'application/json',
  'application/openapi+json',
  'application/vnd.oai.openapi+json',
  'application/*',
  '*/*',
]);

function makeOpenapiAnswers(
  groups: readonly ApiGroup[],
): (state: Authorized, surface: SurfaceOf<'openapi'>) => CompleteResponse {
  const documents = makeOpenapi(groups);
  return (state, surface) => {
    const ranges = acceptedRanges(state.headers).map(({ mediaType }) => mediaType);
    const isV2 = surface.document === 'v2';
    const wanted =
      ranges.length === 0
        ? 'application/json'
        : ranges.find((range) => openapiRanges.has(range) || (isV2 && openapiProtobufTypes.includes(range)));
    if (wanted === undefined) {
      throw new GatewayError('NOT_ACCEPTABLE', 'OpenAPI documents are served as application/json');
    }
    if (openapiProtobufTypes.includes(wanted)) {
      return documentResponse(documents.v2Protobuf, state.headers, state.auditId);
    }
    const document =
      surface.document === 'v3-group' ? documents.groups.get(surface.group)! : documents[surface.document];
    const hash = queryValue(state.target.query, 'hash');
    const forever = surface.document === 'v3-group' && hash === document.hash;
    return documentResponse(document, state.headers, state.auditId, forever);
  };
}
