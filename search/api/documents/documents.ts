// Answers discovery, OpenAPI, version and health below the paths of the index. Easy to get wrong: kubectl asks for
// discovery before anything else, so it is made from what is known here and never waits for a member; only OpenAPI,
// which few ask for, is asked of them.
import { GatewayError } from '../../../cache/model/errors.ts';
import type { User } from '../../../cache/model/user.ts';
import { hasEtag } from '../../../routing/forward/headers.ts';
import type { StoredType } from '../../stores/store.ts';
import { typeKey } from '../../types.ts';
import { sendJson, sendWhole } from '../answer-body.ts';
import type { Warning } from '../answer-body.ts';
import { askedAbout } from '../catalog.ts';
import { clusterWarnings } from '../cluster-warnings.ts';
import { scopeConcerns } from '../visible.ts';
import type { AskedDocument } from '../inner-path.ts';
import { notFound } from '../inner-path.ts';
import type { AnswerParts } from '../parts.ts';
import { unknownCluster } from '../plan.ts';
import type { IndexRequest } from '../request.ts';
import { aggregatedList, groupDocument, groupLists, openapiRoot, resourceList, unionOf } from './union-discovery.ts';
import type { Union } from './union-discovery.ts';

/** Answers one document. @throws GatewayError (rejects) while nothing was sent */
export async function answerDocument(request: IndexRequest, asked: AskedDocument, parts: AnswerParts): Promise<void> {
  const { document, cluster } = asked;
  if (document === 'health') {
    sendWhole(request, Buffer.from('ok'), [], 'text/plain; charset=utf-8');
    return;
  }
  if (document === 'version') {
    request.form(['']);
    sendJson(request, parts.version());
    return;
  }
  await parts.settled();
  const types = await typesSeen(parts, request.user, cluster);
  const union = unionOf(types, cluster !== undefined);
  if (document === 'openapi-v3' && asked.version !== undefined) {
    await answerOpenapi(request, asked, parts, types, union);
    return;
  }
  if (document === 'openapi-v2') {
    await askOpenapi(request, asked, types);
    return;
  }
  if (document === 'openapi-v3') {
    sendJson(request, openapiRoot(union));
    return;
  }
  // kubectl asks for this first, and goes no further where it finds no type.
  const warnings = union.groups.size > 0 ? [] : await unreadWarnings(parts, request.user, cluster);
  sendDiscovery(request, asked, union, warnings);
}

/** Why clusters that the caller may know of have no types at all. */
async function unreadWarnings(
  parts: AnswerParts,
  user: User,
  cluster: string | undefined,
): Promise<readonly Warning[]> {
  const clusters = cluster === undefined ? undefined : [cluster];
  const answer = await parts.rights.scope(user, 'list', askedAbout(await parts.catalog(), parts), clusters);
  return clusterWarnings({ types: [], clusters }, answer, parts.statesOf(new Set()), parts.now());
}

function sendDiscovery(
  request: IndexRequest,
  { document, group, version }: AskedDocument,
  union: Union,
  warnings: readonly Warning[],
): void {
  if (document === 'api' || document === 'apis') {
    const form = request.form(['APIGroupDiscoveryList', '']);
    if (form.as === '') {
      sendJson(request, groupLists(union)[document], warnings);
      return;
    }
    const type = `application/json;g=apidiscovery.k8s.io;v=${form.version};as=APIGroupDiscoveryList`;
    sendWhole(
      request,
      Buffer.from(`${JSON.stringify(aggregatedList(union, document, form.version))}\n`),
      warnings,
      type,
    );
    return;
  }
  request.form(['']);
  if (document === 'root') {
    sendJson(request, groupLists(union).root);
    return;
  }
  const found = document === 'group' ? groupDocument(union, group!) : resourceList(union, group!, version!);
  if (found === undefined) throw notFound();
  sendJson(request, found);
}

/** Types of which the caller may list or get anything. */
async function typesSeen(parts: AnswerParts, user: User, cluster: string | undefined): Promise<readonly StoredType[]> {
  const catalog = await parts.catalog();
  const own = catalog.all.filter(({ incarnation }) => cluster === undefined || incarnation.cluster === cluster);
  const types = [...new Map(own.map(({ type }) => [typeKey(type), type])).values()].map(({ group, resource }) => ({
    group,
    resource,
  }));
  const clusters = cluster === undefined ? undefined : [cluster];
  const listed = await parts.rights.scope(user, 'list', types, clusters);
  const isListed = ({ incarnation, type }: StoredType): boolean =>
    scopeConcerns(listed.scope, incarnation.id, typeKey(type));
  const rest = types.filter((type) => own.some((each) => typeKey(each.type) === typeKey(type) && !isListed(each)));
  const got = rest.length === 0 ? listed : await parts.rights.scope(user, 'get', rest, clusters);
  if (cluster !== undefined && !listed.reachable.has(cluster) && !got.reachable.has(cluster)) {
    // Nothing of it may be read yet: it is judged by what is chosen.
    const chosen = await parts.rights.scope(user, 'list', askedAbout(catalog, parts), clusters);
    if (!chosen.reachable.has(cluster)) throw unknownCluster(cluster);
  }
  return own.filter((each) => isListed(each) || scopeConcerns(got.scope, each.incarnation.id, typeKey(each.type)));
}

/**
 * One document of `/openapi/v3`: of the cluster in the path as that has it, else of the union. @throws GatewayError
 * (rejects) NOT_FOUND, INDEX_UNAVAILABLE
 */
async function answerOpenapi(
  request: IndexRequest,
  asked: AskedDocument,
  { openapi }: AnswerParts,
  types: readonly StoredType[],
  { groups }: Union,
): Promise<void> {
  const group = asked.group!;
  const version = asked.version!;
  const offered = groups.get(group)?.get(version);
  if (offered === undefined) throw notFound();
  if (asked.cluster !== undefined || isForProtobufAlone(request)) {
    await askOpenapi(request, asked, types);
    return;
  }
  const names = new Set(offered.map(({ resource }) => resource));
  const having = types.filter(
    ({ type }) => type.group === group && names.has(type.resource) && type.versions.includes(version),
  );
  const document = await openapi.document(group, version, having);
  if (document === undefined) {
    // No cluster tells the index; one may tell the caller.
    await askOpenapi(request, asked, types);
    return;
  }
  const { body, etag, warnings } = document;
  const validators = ['ETag', etag, 'Vary', 'Accept'];
  if (hasEtag(request.headers, etag)) sendWhole(request, Buffer.alloc(0), warnings, undefined, 304, validators);
  else sendWhole(request, body, warnings, undefined, 200, validators);
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
async function askOpenapi(
  request: IndexRequest,
  { document, cluster, group, version }: AskedDocument,
  types: readonly StoredType[],
): Promise<void> {
  const isAny = document === 'openapi-v2';
  const having = types
    .filter(({ type }) => isAny || (type.group === group && type.versions.includes(version!)))
    .toSorted((one, other) => other.position.confirmedAtMs - one.position.confirmedAtMs);
  const names = cluster === undefined ? byTypes(having) : [cluster];
  const path = isAny ? '/openapi/v2' : `/openapi/v3/${group === '' ? 'api' : `apis/${group}`}/${version}`;
  let failure: unknown = new GatewayError('INDEX_UNAVAILABLE', 'no cluster can be asked for its OpenAPI documents');
  for (const name of names.slice(0, 3)) {
    try {
      await request.live(name, path, request.query);
      return;
    } catch (error) {
      if (request.inbound.answered) throw error;
      failure = error;
    }
  }
  throw failure;
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
