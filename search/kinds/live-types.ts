// Requests for objects of a type that the index does not hold. They are sent to the clusters at the time of the
// request, as the caller, and each cluster decides by its own RBAC. Whether a type is one of these does not depend on
// the caller. Easy to get wrong: clusters do not know the parameters of the index, and ignore them. So a request with
// one of them is refused, because its answer would have objects that nobody asked for.
import { GatewayError } from '../../model/errors.ts';
import { indexParameters, urlParameters, type Parameters } from '../../query/parameters.ts';
import { parseLabelSelector } from '../../query/selectors/label-selector.ts';
import { isSearchLabel } from '../../query/selectors/search-labels.ts';
import { typeName } from '../../sync/member/member-paths.ts';
import { typeKey } from '../../query/types.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { EarlyAnswer } from '../api/answer.ts';
import { notIndexed } from '../catalog/catalog.ts';
import { unknownCluster } from '../api/plan.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { AskedObjects } from '../request/inner-path.ts';
import { isEventsOfObject, noEvents } from './no-events.ts';
import type { LiveQuestion } from '../api/question.ts';
import type { IndexRequest } from '../request/request.ts';
import type { Authorized } from '../api/state.ts';
import { isForwarded, memberPath } from './read-objects.ts';

/**
 * Reads a request for objects of which the index has no rows, although a cluster serves their type.
 * @returns undefined for all other requests: the index answers them, if only with 404
 * @throws GatewayError (rejects) BAD_REQUEST for parameters that only the index has
 */
export async function readLive(
  request: IndexRequest,
  path: AskedObjects,
  { catalog, settled }: AnswerDependencies,
): Promise<LiveQuestion | undefined> {
  const { part } = request.asked;
  if (part !== 'resources' && part !== 'proxy') return undefined;
  // While the store cannot be read, it is not known which types are indexed. That is no error here, because a request
  // that is forwarded to a cluster does not need the store.
  const first = await catalog().catch(() => undefined);
  if (first === undefined || isIndexed(first, path)) return undefined;
  const parameters = urlParameters(request.query.slice(1));
  if (isForwarded(request, parameters)) return undefined;
  await settled();
  const known = await catalog();
  if (isIndexed(known, path) || !isServed(known, path)) return undefined;
  refuseIndexParameters(parameters);
  const query = path.legacyWatch ? `${request.query === '' ? '?' : `${request.query}&`}watch=true` : request.query;
  const asked = memberPath({ ...path, legacyWatch: false });
  return { kind: 'live', path, memberPath: asked, query, parameters };
}

function isIndexed(catalog: Catalog, path: AskedObjects): boolean {
  const { cluster } = path;
  return catalog.of(typeKey(path)).some(({ incarnation }) => cluster === undefined || incarnation.cluster === cluster);
}

function isServed(catalog: Catalog, path: AskedObjects): boolean {
  const { cluster, version } = path;
  return catalog
    .liveOf(typeKey(path))
    .some(
      ({ incarnation, type }) =>
        type.versions.includes(version) && (cluster === undefined || incarnation.cluster === cluster),
    );
}

function refuseIndexParameters(parameters: Parameters): void {
  const given = parameters.names.find((name) => indexParameters.has(name));
  const label = parseLabelSelector(parameters.text('labelSelector') ?? '').find(({ key }) => isSearchLabel(key))?.key;
  const what = given === undefined ? label : `${given}=`;
  if (what === undefined) return;
  throw new GatewayError(
    'BAD_REQUEST',
    `${what} is only for types that are in the index, and this type is read from the clusters themselves`,
  );
}

/** Decides which clusters are asked, and what the client gets when the caller may ask none of them. */
export async function planLive(
  { request, question: { path, memberPath: asked, query, parameters } }: Authorized<LiveQuestion>,
  dependencies: AnswerDependencies,
): Promise<EarlyAnswer> {
  const { liveOf, discovered } = await dependencies.catalog();
  const serving = new Set(liveOf(typeKey(path)).map(({ incarnation }) => incarnation.cluster));
  const { cluster } = path;
  const named = cluster === undefined ? parameters.list('clusters') : [cluster];
  // A cluster that the caller may not ask is treated as one that does not exist.
  const why = cluster === undefined ? notIndexed(path, path.version) : unknownCluster(cluster);
  return new EarlyAnswer({
    kind: 'live',
    path: asked,
    query,
    // A cluster whose discovery was not read yet may serve the type; if it cannot be reached, the answer says so.
    isAsked: (name) => (serving.has(name) || !discovered.has(name)) && (named === undefined || named.includes(name)),
    notice: `${typeName(path)} are not in the index, so the clusters themselves were asked`,
    otherwise: isEventsOfObject(path, parameters) ? noEvents(request, path, why, dependencies) : why,
  });
}
