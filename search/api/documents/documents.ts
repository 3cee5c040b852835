// Discovery and OpenAPI below the paths of the index. kubectl asks for discovery before anything else, so it is made
// from what is known here and never waits for a cluster. Only OpenAPI, which few ask for, is asked of clusters.
import type { User } from '../../../cache/model/user.ts';
import { hasEtag } from '../../../routing/forward/headers.ts';
import type { StoredType } from '../../stores/store.ts';
import type { SyncView } from '../../sync/sync-view.ts';
import { typeKey } from '../../types.ts';
import type { AnswerDependencies } from '../answer-dependencies.ts';
import type { Warning } from '../answer-body.ts';
import { EarlyAnswer, jsonAnswer } from '../answer.ts';
import type { WholeAnswer } from '../answer.ts';
import { askedAbout } from '../catalog.ts';
import { clusterWarnings } from '../cluster-warnings.ts';
import { notFound } from '../inner-path.ts';
import type { AskedDocument } from '../inner-path.ts';
import { unknownCluster } from '../plan.ts';
import type { DocumentQuestion } from '../question.ts';
import type { IndexRequest } from '../request.ts';
import type { Asked, Fetched, Planned, Seen } from '../state.ts';
import { scopeConcerns } from '../visible.ts';
import type { UnionDocument } from './openapi-union.ts';
import { aggregatedList, groupDocument, groupLists, openapiRoot, resourceList, unionOf } from './union-discovery.ts';
import type { Union } from './union-discovery.ts';

/** Types of clusters of which the caller may list or get anything. */
type SeenTypes = readonly StoredType[];

/** @throws GatewayError (rejects) CLUSTER_NOT_FOUND for a cluster of the path that is out of the caller's reach */
export async function rightsToDocuments(
  { request: { user }, question: { document } }: Asked<DocumentQuestion>,
  { rights, catalog, chosen }: AnswerDependencies,
): Promise<SeenTypes> {
  const { cluster } = document;
  const known = await catalog();
  const own = known.all.filter(({ incarnation }) => cluster === undefined || incarnation.cluster === cluster);
  const types = [...new Map(own.map(({ type }) => [typeKey(type), type])).values()].map(({ group, resource }) => ({
    group,
    resource,
  }));
  const clusters = cluster === undefined ? undefined : [cluster];
  const listed = await rights.scope(user, 'list', types, clusters);
  const isListed = ({ incarnation, type }: StoredType): boolean =>
    scopeConcerns(listed.scope, incarnation.id, typeKey(type));
  const rest = types.filter((type) => own.some((each) => typeKey(each.type) === typeKey(type) && !isListed(each)));
  const got = rest.length === 0 ? listed : await rights.scope(user, 'get', rest, clusters);
  if (cluster !== undefined && !listed.reachable.has(cluster) && !got.reachable.has(cluster)) {
    // Nothing of it may be read yet: what is chosen decides.
    const about = await rights.scope(user, 'list', askedAbout(known, chosen), clusters);
    if (!about.reachable.has(cluster)) throw unknownCluster(cluster);
  }
  return own.filter((each) => isListed(each) || scopeConcerns(got.scope, each.incarnation.id, typeKey(each.type)));
}

/**
 * The union of what clusters serve. OpenAPI of one cluster, in version 2 or in protobuf is relayed from a cluster.
 * @throws GatewayError NOT_FOUND for an OpenAPI document of a version that no cluster serves
 */
export function planDocument(
  { request, question: { document: asked }, sight: types }: Seen<DocumentQuestion, SeenTypes>,
  { sync }: AnswerDependencies,
): Union | EarlyAnswer {
  const { document, cluster, group, version } = asked;
  const union = unionOf(types, cluster !== undefined);
  if (document === 'openapi-v2') return relayedOpenapi(request, asked, types, sync);
  if (document !== 'openapi-v3' || version === undefined) return union;
  if (union.groups.get(group!)?.get(version) === undefined) throw notFound();
  return cluster !== undefined || isForProtobufAlone(request) ? relayedOpenapi(request, asked, types, sync) : union;
}

/** What a document needs beside the plan. */
interface FoundDocument {
  /** Of `/openapi/v3`. */
  readonly openapi?: UnionDocument;
  readonly warnings: readonly Warning[];
}

/** Reads one document of `/openapi/v3` of the union. Discovery without any type gets the reasons as warnings. */
export async function fetchDocument(
  { request, question: { document: asked }, sight: types, plan }: Planned<DocumentQuestion, SeenTypes, Union>,
  dependencies: AnswerDependencies,
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
  const having = types.filter(
    ({ type }) => type.group === group && names.has(type.resource) && type.versions.includes(version),
  );
  const openapi = await dependencies.openapi.document(group!, version, having);
  // Where no cluster answers the index, one may answer the caller.
  return openapi === undefined
    ? relayedOpenapi(request, asked, types, dependencies.sync)
    : { openapi, warnings: openapi.warnings };
}

/** Why clusters that the caller may know of have no types at all. kubectl asks for discovery first, and stops there. */
async function unreadWarnings(
  user: User,
  cluster: string | undefined,
  { rights, catalog, chosen, sync, now }: AnswerDependencies,
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
}: Fetched<DocumentQuestion, SeenTypes, Union, FoundDocument>): WholeAnswer {
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

function openapiAnswer(request: IndexRequest, { body, etag, warnings }: UnionDocument): WholeAnswer {
  const headers = ['ETag', etag, 'Vary', 'Accept'];
  if (hasEtag(request.headers, etag)) return { kind: 'whole', body: Buffer.alloc(0), warnings, status: 304, headers };
  return { kind: 'whole', body, warnings, headers };
}

/** Such clients (kubectl before it writes) have a cluster's own document: documents of the union are JSON. */
function isForProtobufAlone(request: IndexRequest): boolean {
  try {
    request.form(['']);
    return false;
  } catch {
    return true;
  }
}

/**
 * OpenAPI as a cluster has it: of the one in the path, else of the one with the most types of such a group, and of
 * several the one heard of last.
 */
function relayedOpenapi(
  request: IndexRequest,
  { document, cluster, group, version }: AskedDocument,
  types: SeenTypes,
  sync: Pick<SyncView, 'confirmedAtMs'>,
): EarlyAnswer {
  const confirmedAtMs = ({ incarnation, type }: StoredType): number => sync.confirmedAtMs(incarnation.id, type) ?? 0;
  const isAny = document === 'openapi-v2';
  const having = types
    .filter(({ type }) => isAny || (type.group === group && type.versions.includes(version!)))
    .toSorted((one, other) => confirmedAtMs(other) - confirmedAtMs(one));
  const clusters = cluster === undefined ? byTypes(having) : [cluster];
  const path = isAny ? '/openapi/v2' : `/openapi/v3/${group === '' ? 'api' : `apis/${group}`}/${version}`;
  return new EarlyAnswer({ kind: 'relayed', clusters, path, query: request.query });
}

/**
 * Clusters by how many of the types they have, the most first: where custom types of one group differ, the fewest are
 * missing.
 */
function byTypes(having: readonly StoredType[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { incarnation } of having) counts.set(incarnation.cluster, (counts.get(incarnation.cluster) ?? 0) + 1);
  return [...counts].toSorted(([, one], [, other]) => other - one).map(([cluster]) => cluster);
}
