// Answers discovery and OpenAPI requests to the index. kubectl reads discovery first, so it is made from what the
// gateway knows, without waiting for a cluster. Only OpenAPI documents, which are requested rarely, are fetched from
// clusters.
import type { User } from '../../model/user.ts';
import { hasEtag } from '../../routing/forward/headers.ts';
import type { StoredType } from '../../store/store.ts';
import type { SyncView } from '../../sync/sync-view.ts';
import { typeKey } from '../../query/types.ts';
import type { AnswerDependencies, FetchDependencies } from '../api/answer-dependencies.ts';
import type { Warning } from '../answer/answer-body.ts';
import { EarlyAnswer, jsonAnswer } from '../api/answer.ts';
import type { WholeAnswer } from '../api/answer.ts';
import { askedAbout } from '../catalog/catalog.ts';
import type { ServedType } from '../catalog/catalog.ts';
import { clusterWarnings } from '../catalog/cluster-warnings.ts';
import { notFound } from '../request/inner-path.ts';
import type { AskedDocument } from '../request/inner-path.ts';
import { unknownCluster } from '../api/plan.ts';
import type { DocumentQuestion } from '../api/question.ts';
import type { IndexRequest } from '../request/request.ts';
import type { Asked, Fetched, Planned, Authorized } from '../api/state.ts';
import { scopeConcerns } from '../request/visible.ts';
import type { OpenapiDocument } from '../catalog/openapi-documents.ts';
import {
  aggregatedList,
  groupDocument,
  groupLists,
  openapiRoot,
  resourceList,
  unionOf,
} from '../catalog/union-discovery.ts';
import { resourceMetricsGroup } from '../../sync/discover/resource-metrics.ts';
import type { Union } from '../catalog/union-discovery.ts';

/** The types of which the caller may list or get at least one object. */
interface VisibleTypes {
  readonly stored: readonly StoredType[];
  /** The types whose objects are read from the clusters themselves, since the index has no rows of them. */
  readonly live: readonly ServedType[];
}

/**
 * Finds the types that a discovery or OpenAPI document may contain for this caller.
 * @throws GatewayError (rejects) CLUSTER_NOT_FOUND when the path names a cluster that the caller may not reach
 */
export async function rightsToDocuments(
  { request: { user }, question: { document } }: Asked<DocumentQuestion>,
  { rights, catalog, chosen }: AnswerDependencies,
): Promise<VisibleTypes> {
  const { cluster } = document;
  const known = await catalog();
  const isAsked = ({ incarnation }: ServedType): boolean => cluster === undefined || incarnation.cluster === cluster;
  const [stored, live] = [known.all.filter(isAsked), known.live.filter(isAsked)];
  const own: readonly ServedType[] = [...stored, ...live];
  const types = [...new Map(own.map(({ type }) => [typeKey(type), type])).values()].map(({ group, resource }) => ({
    group,
    resource,
  }));
  const clusters = cluster === undefined ? undefined : [cluster];
  const listed = await rights.scope(user, 'list', types, clusters);
  const isListed = ({ incarnation, type }: ServedType): boolean =>
    scopeConcerns(listed.scope, incarnation.id, typeKey(type));
  const rest = types.filter((type) => own.some((each) => typeKey(each.type) === typeKey(type) && !isListed(each)));
  const got = rest.length === 0 ? listed : await rights.scope(user, 'get', rest, clusters);
  if (cluster !== undefined && !listed.reachable.has(cluster) && !got.reachable.has(cluster)) {
    // The caller may see nothing of the stored types. The cluster is still visible if the caller may list a selected
    // type.
    const about = await rights.scope(user, 'list', askedAbout(known, chosen), clusters);
    if (!about.reachable.has(cluster)) throw unknownCluster(cluster);
  }
  const isSeen = (each: ServedType): boolean =>
    isListed(each) || scopeConcerns(got.scope, each.incarnation.id, typeKey(each.type));
  return { stored: stored.filter(isSeen), live: live.filter(isSeen) };
}

/**
 * Decides what a discovery or OpenAPI document is made of: usually the types of all clusters. OpenAPI of a single
 * cluster, in version 2, or as protobuf, is passed on from a cluster.
 * @throws GatewayError NOT_FOUND when no cluster serves the group and version of an OpenAPI document
 */
export function planDocument(
  { request, question: { document: asked }, visibility }: Authorized<DocumentQuestion, VisibleTypes>,
  { sync }: AnswerDependencies,
): Union | EarlyAnswer {
  const { document, cluster, group, version } = asked;
  const isOpenapi = document === 'openapi-v2' || document === 'openapi-v3';
  const types = isOpenapi ? describedTypes(visibility) : [...visibility.stored, ...visibility.live];
  const union = unionOf(types, cluster !== undefined);
  if (document === 'openapi-v2') return relayedOpenapi(request, asked, types, sync);
  if (document !== 'openapi-v3' || version === undefined) return union;
  if (union.groups.get(group!)?.get(version) === undefined) throw notFound();
  return cluster !== undefined || isForProtobufAlone(request) ? relayedOpenapi(request, asked, types, sync) : union;
}

/**
 * The types that OpenAPI documents have. Those of metrics.k8s.io are left out: discovery has them even while the
 * metrics server is down, and then no cluster has a document for them.
 */
function describedTypes({ stored, live }: VisibleTypes): readonly ServedType[] {
  return [...stored, ...live.filter(({ type }) => type.group !== resourceMetricsGroup)];
}

/** The result of looking up a discovery or OpenAPI document. */
interface FoundDocument {
  /** The OpenAPI document of one group and version; undefined for other documents. */
  readonly openapi?: OpenapiDocument;
  readonly warnings: readonly Warning[];
}

/**
 * Reads the OpenAPI document of one group and version. When the caller's discovery would be empty, adds warnings that
 * say why.
 */
export async function fetchDocument(
  { request, question: { document: asked }, visibility, plan }: Planned<DocumentQuestion, VisibleTypes, Union>,
  dependencies: FetchDependencies,
): Promise<FoundDocument | EarlyAnswer> {
  const { document, cluster, group, version } = asked;
  const isDiscovery = document === 'api' || document === 'apis';
  if (isDiscovery && plan.groups.size === 0)
    return { warnings: await unreadWarnings(request.user, cluster, dependencies) };
  if (document !== 'openapi-v3' || version === undefined) return { warnings: [] };
  const names = new Set(
    plan.groups
      .get(group!)!
      .get(version)!
      .map(({ resource }) => resource),
  );
  const types = describedTypes(visibility);
  const having = types.filter(
    ({ type }) => type.group === group && names.has(type.resource) && type.versions.includes(version),
  );
  const openapi = await dependencies.openapi.document(group!, version, having);
  // The index cannot read the document from any cluster, but the caller's own rights may suffice.
  return openapi === undefined
    ? relayedOpenapi(request, asked, types, dependencies.sync)
    : { openapi, warnings: openapi.warnings };
}

/**
 * Warnings that say why the index has no types of clusters that the caller may know of. They go with an empty discovery
 * document, because kubectl reads discovery first and stops there if it is empty.
 */
async function unreadWarnings(
  user: User,
  cluster: string | undefined,
  { rights, catalog, chosen, sync, now }: FetchDependencies,
): Promise<readonly Warning[]> {
  const clusters = cluster === undefined ? undefined : [cluster];
  const answer = await rights.scope(user, 'list', askedAbout(await catalog(), chosen), clusters);
  return clusterWarnings({ types: [], clusters }, answer, sync.stateOf(new Set()), now());
}

export function formDocument({
  request,
  question: { document: asked },
  plan: union,
  found,
}: Fetched<DocumentQuestion, VisibleTypes, Union, FoundDocument>): WholeAnswer {
  const { document, group, version } = asked;
  if (found.openapi !== undefined) return openapiAnswer(request, found.openapi);
  switch (document) {
    case 'openapi-v3':
      return jsonAnswer(openapiRoot(union));
    case 'api':
    case 'apis':
      return discoveryAnswer(request, document, union, found.warnings);
    default: {
      request.form(['']);
      if (document === 'root') return jsonAnswer(groupLists(union).root);
      const known = document === 'group' ? groupDocument(union, group!) : resourceList(union, group!, version!);
      if (known === undefined) throw notFound();
      return jsonAnswer(known);
    }
  }
}

function discoveryAnswer(
  request: IndexRequest,
  document: 'api' | 'apis',
  union: Union,
  warnings: readonly Warning[],
): WholeAnswer {
  const form = request.form(['APIGroupDiscoveryList', '']);
  if (form.as === '') return jsonAnswer(groupLists(union)[document], warnings);
  const contentType = `application/json;g=apidiscovery.k8s.io;v=${form.version};as=APIGroupDiscoveryList`;
  return { ...jsonAnswer(aggregatedList(union, document, form.version), warnings), contentType };
}

function openapiAnswer(request: IndexRequest, { body, etag, warnings }: OpenapiDocument): WholeAnswer {
  const headers = ['ETag', etag, 'Vary', 'Accept'];
  if (hasEtag(request.headers, etag)) return { kind: 'whole', body: Buffer.alloc(0), warnings, status: 304, headers };
  return { kind: 'whole', body, warnings, headers };
}

/**
 * Whether the client only accepts protobuf, as kubectl does before it writes. Such a client gets the document of one
 * cluster, because the index makes JSON documents only.
 */
function isForProtobufAlone(request: IndexRequest): boolean {
  try {
    request.form(['']);
    return false;
  } catch {
    return true;
  }
}

/**
 * Plans an answer that a cluster gives and the gateway passes on. If the path names a cluster, that cluster is asked.
 * Otherwise it is the cluster with the most types of the group; among equals, the one that was last known to be up to
 * date.
 */
function relayedOpenapi(
  request: IndexRequest,
  { document, cluster, group, version }: AskedDocument,
  types: readonly ServedType[],
  sync: Pick<SyncView, 'confirmedAtMs'>,
): EarlyAnswer {
  const confirmedAtMs = ({ incarnation, type }: ServedType): number => sync.confirmedAtMs(incarnation.id, type) ?? 0;
  const isAny = document === 'openapi-v2';
  const having = types
    .filter(({ type }) => isAny || (type.group === group && type.versions.includes(version!)))
    .toSorted((one, other) => confirmedAtMs(other) - confirmedAtMs(one));
  const clusters = cluster === undefined ? byTypes(having) : [cluster];
  const path = isAny ? '/openapi/v2' : `/openapi/v3/${group === '' ? 'api' : `apis/${group}`}/${version}`;
  return new EarlyAnswer({ kind: 'relayed', clusters, path, query: request.query });
}

/**
 * The clusters sorted by how many of the types they have, most first. If custom types of a group differ between
 * clusters, the first cluster's document lacks the fewest.
 */
function byTypes(having: readonly ServedType[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { incarnation } of having) counts.set(incarnation.cluster, (counts.get(incarnation.cluster) ?? 0) + 1);
  return [...counts].toSorted(([, one], [, other]) => other - one).map(([cluster]) => cluster);
}
