// Answers paths of objects: list, watch, and get of one by name. Easy to get wrong: the same name may be there in many
// clusters; without a cluster in the path one object is answered only when the caller may get exactly one, and the
// clusters named otherwise are the ones the caller may get it from.
import { GatewayError } from '../../cache/model/errors.ts';
import { headerValue } from '../../routing/forward/headers.ts';
import { documentPaths, readDocument } from '../query/document.ts';
import { compileMatcher } from '../query/match.ts';
import { takeForwardLabel } from '../query/selectors/forward-label.ts';
import { onlyParameters, urlParameters } from '../query/parameters.ts';
import type { Parameters } from '../query/parameters.ts';
import { readQuery } from '../query/read-query.ts';
import type { AskedQuery } from '../query/read-query.ts';
import type { RowScope } from '../rights/scope.ts';
import type { RowRead } from '../stores/store.ts';
import { tableOf } from '../table/table.ts';
import { typeKey } from '../types.ts';
import { watchRows } from '../watch/watch.ts';
import { sendWhole } from './answer-body.ts';
import { eventForm, listDocument, objectForm, oneDocument, tableDocument, tableEventForm } from './forms.ts';
import type { IncludeObject } from './forms.ts';
import type { AskedObjects } from './inner-path.ts';
import { askedWarnings, readListPage, sendListPage } from './list-rows.ts';
import { readListVersion, readWatchStart, requireInLog, waitForVersion } from './list-options.ts';
import type { AnswerParts } from './parts.ts';
import { planAnswer, queryOf, visibleNow } from './plan.ts';
import type { PlanQuestion } from './plan-question.ts';
import type { Plan } from './plan.ts';
import type { Form, IndexRequest } from './request.ts';

const versionPath = documentPaths([
  [
    { kind: 'key', key: 'metadata' },
    { kind: 'key', key: 'resourceVersion' },
  ],
]);
const objectForms = ['Table', '', 'PartialObjectMetadata', 'PartialObjectMetadataList'] as const;
/**
 * What is read of the parameters of a get by name: selectors and pages are for lists (so with kube-apiserver and
 * Clusterpedia).
 */
const ofOneObject = ['clusters', 'fields', 'onlyMetadata'];
/** More clusters than this are not named in an ambiguity. */
const mostNamed = 20;

/** Answers one path of objects. @throws GatewayError (rejects) while nothing was sent */
export async function answerObjects(request: IndexRequest, path: AskedObjects, parts: AnswerParts): Promise<void> {
  const parameters = urlParameters(request.query.slice(1));
  const { group, resource, version, cluster, namespace, name } = path;
  const isWatch = path.legacyWatch || (parameters.flag('watch') ?? false);
  const verb = isWatch ? 'watch' : name === undefined ? 'list' : 'get';
  const asked = readQuery(verb === 'get' ? onlyParameters(parameters, ofOneObject) : parameters, {
    types: [{ group, resource }],
    ...(cluster === undefined ? {} : { cluster }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  });
  const { forward } = takeForwardLabel(parameters.text('labelSelector') ?? '');
  if (forward || headerValue(request.headers, 'x-clusterpedia-forward') === 'true') {
    await forwardLive(request, path);
    return;
  }
  const question: PlanQuestion = {
    user: request.user,
    verb,
    types: [{ group, resource, version }],
    clusters: asked.query.clusters,
    cluster,
    byOwner: asked.query.owner !== undefined,
  };
  await parts.settled();
  const plan = await planAnswer(parts, question).catch((error: unknown) => {
    const isNotIndexed = error instanceof GatewayError && error.code === 'NOT_FOUND';
    if (verb !== 'list' || !isEventsOfObject(path, parameters) || !isNotIndexed) throw error;
    return error;
  });
  if (plan instanceof GatewayError) {
    answerNoEvents(request, path, plan, parts);
    return;
  }
  const view = plan.views[0]!;
  if (!view.type.namespaced && namespace !== undefined) throw notFoundPath();
  if (view.type.namespaced && namespace === undefined && name !== undefined) throw notFoundPath();
  if (cluster !== undefined && view.leftOut.size > 0) {
    await request.live(cluster, livePath(path), request.query);
    return;
  }
  if (isWatch) await answerWatch(request, parameters, asked, plan, question, parts);
  else if (name === undefined) await answerList(request, parameters, asked, plan, question, parts);
  else await answerGet(request, path, asked, plan, parts);
}

/** As kubectl describe asks for the events of what it describes; for some kinds it fails where that is refused. */
function isEventsOfObject({ group, resource }: AskedObjects, parameters: Parameters): boolean {
  const selector = parameters.text('fieldSelector') ?? '';
  return (
    ['', 'events.k8s.io'].includes(group) && resource === 'events' && /involvedObject\.|regarding\./.test(selector)
  );
}

/** Events are not indexed: there are none here, and why is said beside. */
function answerNoEvents(request: IndexRequest, path: AskedObjects, why: GatewayError, { store }: AnswerParts): void {
  request.form(['']);
  const apiVersion = path.group === '' ? path.version : `${path.group}/${path.version}`;
  const metadata = { resourceVersion: store.resourceVersion() };
  const list = { kind: 'EventList', apiVersion, metadata, items: [] };
  sendWhole(request, Buffer.from(`${JSON.stringify(list)}\n`), [{ cluster: undefined, text: why.message }]);
}

function notFoundPath(): GatewayError {
  return new GatewayError('NOT_FOUND', 'the server could not find the requested resource');
}

function livePath({ group, version, namespace, resource, name, legacyWatch }: AskedObjects): string {
  const segments = [
    ...(group === '' ? ['api', version] : ['apis', group, version]),
    ...(legacyWatch ? ['watch'] : []),
    ...(namespace === undefined ? [] : ['namespaces', namespace]),
    resource,
    ...(name === undefined ? [] : [name]),
  ];
  return `/${segments.map(encodeURIComponent).join('/')}`;
}

/**
 * Clusterpedia's label and header that ask the member instead of the store (v0.9,
 * pkg/kubeapiserver/resource_handler.go).
 */
async function forwardLive(request: IndexRequest, path: AskedObjects): Promise<void> {
  if (path.cluster === undefined)
    throw new GatewayError('BAD_REQUEST', 'only a path with a cluster can be forwarded: …/clusters/<name>/…');
  const query = new URLSearchParams(request.query.slice(1));
  const { selector } = takeForwardLabel(query.get('labelSelector') ?? '');
  if (selector === '') query.delete('labelSelector');
  else query.set('labelSelector', selector);
  const text = query.toString();
  await request.live(path.cluster, livePath(path), text === '' ? '' : `?${text}`);
}

function wantedForm(request: IndexRequest): { readonly as: Form['as']; readonly isPartial: boolean } {
  const { as } = request.form(objectForms);
  return { as, isPartial: as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList' };
}

function includeObject(parameters: Parameters): IncludeObject {
  const include = parameters.text('includeObject');
  if (include === undefined) return 'Metadata';
  if (include === 'None' || include === 'Metadata' || include === 'Object') return include;
  throw new GatewayError('BAD_REQUEST', 'includeObject is None, Metadata or Object');
}

async function answerList(
  request: IndexRequest,
  parameters: Parameters,
  asked: AskedQuery,
  plan: Plan,
  question: PlanQuestion,
  parts: AnswerParts,
): Promise<void> {
  const version = readListVersion(parameters, parts.store);
  const { as, isPartial } = wantedForm(request);
  const view = plan.views[0]!;
  const show = objectForm(plan.views, { ...asked, isPartial });
  const include = includeObject(parameters);
  await sendListPage(
    request,
    async () => {
      const listed = await readListPage(request, asked, queryOf(asked.query, plan.views), plan, version, parts);
      parts.told.note(question, listed.meta.resourceVersion, plan.scope);
      return listed;
    },
    (meta) =>
      as === 'Table'
        ? tableDocument(
            tableOf(view.type, view.type.version, parts.now()),
            meta,
            objectForm(plan.views, asked),
            include,
          )
        : listDocument(view.type, meta, show, isPartial),
    [...askedWarnings(asked, true), ...plan.warnings],
    parts,
  );
}

async function answerGet(
  request: IndexRequest,
  path: AskedObjects,
  asked: AskedQuery,
  plan: Plan,
  parts: AnswerParts,
): Promise<void> {
  const { as, isPartial } = wantedForm(request);
  const { type } = plan.views[0]!;
  const page = await parts.store.list(queryOf(asked.query, plan.views), plan.scope, { limit: mostNamed + 1 });
  const rows: RowRead[] = [];
  for await (const chunk of page.chunks) rows.push(...chunk);
  const [row] = rows;
  const details = { kind: path.resource, group: path.group, name: path.name! };
  const what = path.group === '' ? path.resource : `${path.resource}.${path.group}`;
  if (row === undefined) throw new GatewayError('NOT_FOUND', `${what} ${JSON.stringify(path.name)} not found`, details);
  if (rows.length > 1) throw ambiguous(what, path.name!, rows, details);
  const show = objectForm(plan.views, { ...asked, isPartial });
  const body =
    as === 'Table'
      ? oneDocument(
          tableDocument(
            tableOf(type, type.version, parts.now()),
            {
              resourceVersion: readDocument(row.raw, versionPath)[0]?.[0] ?? '',
              continueToken: undefined,
              remaining: undefined,
            },
            objectForm(plan.views, asked),
            includeObject(urlParameters(request.query.slice(1))),
          ),
          row,
        )
      : Buffer.concat([show(row.raw, row.type, row.incarnation), Buffer.from('\n')]);
  sendWhole(request, body, [...askedWarnings(asked, false), ...plan.warnings]);
}

function ambiguous(
  what: string,
  name: string,
  rows: readonly RowRead[],
  details: { readonly kind: string; readonly group: string; readonly name: string },
): GatewayError {
  const clusters = [...new Set(rows.map(({ cluster }) => cluster))];
  const named = clusters.slice(0, mostNamed).join(', ') + (rows.length > mostNamed ? ', …' : '');
  return new GatewayError(
    'CONFLICT',
    `${what} ${JSON.stringify(name)} is in more than one cluster: ${named}; ask for one of them below …/clusters/<name>/`,
    details,
  );
}

async function answerWatch(
  request: IndexRequest,
  parameters: Parameters,
  asked: AskedQuery,
  plan: Plan,
  question: PlanQuestion,
  parts: AnswerParts,
): Promise<void> {
  if (request.inbound.method !== 'GET') throw new GatewayError('METHOD_NOT_ALLOWED', 'a watch is asked for by GET');
  const start = readWatchStart(parameters, parts.store);
  const { as, isPartial } = wantedForm(request);
  if (as === 'PartialObjectMetadataList') throw new GatewayError('NOT_ACCEPTABLE', 'a watch has no such form');
  const { owner } = asked.query;
  if (owner !== undefined && (owner.uid === undefined || owner.seniority > 0)) {
    throw new GatewayError(
      'BAD_REQUEST',
      'a watch by owner needs ownerUID of the direct owner: who owns what may change',
    );
  }
  const view = plan.views[0]!;
  const query = { ...queryOf(asked.query, plan.views), order: [] };
  await waitForVersion(parts.store, start.notOlderThan);
  await requireInLog(parts.store, start.notOlderThan, start.after === undefined);
  const { after } = start;
  const listScope = async (): Promise<RowScope> => (await visibleNow(parts, { ...question, verb: 'list' })()).scope;
  const show = objectForm(plan.views, { ...asked, isPartial });
  // What comes through a hub by a path that it takes for a short request is cut after 60 s; ended before, nothing is
  // lost.
  const isShort = request.aggregated && request.asked.part === 'resources';
  const limits = [start.timeoutMs, isShort ? parts.aggregatedWatchMs : undefined].filter((ms) => ms !== undefined);
  const matches = compileMatcher(query);
  await watchRows(
    request,
    {
      query,
      matches,
      types: plan.views.map(({ type }) => type),
      keys: plan.views.map(({ type }) => typeKey(type)),
      form:
        as === 'Table'
          ? tableEventForm(
              () => tableOf(view.type, view.type.version, parts.now()),
              objectForm(plan.views, asked),
              includeObject(parameters),
            )
          : eventForm(view.type, show, isPartial),
      after: start.fromNow ? parts.store.resourceVersion() : after,
      before: after === undefined ? undefined : (scope) => parts.told.before(question, after, scope, listScope),
      marksInitialEnd: start.marksInitialEnd,
      bookmarks: start.bookmarks,
      timeoutMs: limits.length === 0 ? undefined : Math.min(...limits),
      visible: visibleNow(parts, question),
      onTold: (position, scope) => parts.told.note(question, position, scope),
    },
    {
      store: parts.store,
      feed: parts.feed,
      openStreams: parts.openStreams,
      bookmarkIntervalMs: parts.bookmarkIntervalMs,
      rightsPollMs: parts.rightsPollMs,
      statusJson: parts.statusJson,
      onRightsChange: (listener) => parts.rights.onChange(listener),
      onError: parts.onError,
    },
  );
}
