// What Clusterpedia's paths cannot say: how many rows have which value, which values there are, how many rows there
// are, how fresh they are, and a list asked for by a document. Easy to get wrong: a count of rows that the caller may
// not see tells of them, so everything here goes through the same plan.
import { GatewayError } from '../../cache/model/errors.ts';
import { columnOf, readColumnPath } from '../query/columns.ts';
import { jsonParameters, urlParameters } from '../query/parameters.ts';
import type { Parameters } from '../query/parameters.ts';
import { printPath } from '../query/path.ts';
import { readQuery } from '../query/read-query.ts';
import type { AskedQuery } from '../query/read-query.ts';
import type { FacetBy } from '../stores/store.ts';
import { indexedOf } from '../sync/indexed.ts';
import type { TypeState } from '../sync/sync-types.ts';
import { typeKey } from '../types.ts';
import { sendJson } from './answer-body.ts';
import { apiVersionOf, askedAbout, notIndexed } from './catalog.ts';
import { collectionDocument, listDocument, objectForm } from './forms.ts';
import { mostTypes } from './inner-path.ts';
import { askedWarnings, readListPage, sendListPage } from './list-rows.ts';
import { readListVersion } from './list-options.ts';
import type { AnswerParts } from './parts.ts';
import { planAnswer, queryOf } from './plan.ts';
import type { AskedType } from './plan-question.ts';
import type { Plan } from './plan.ts';
import type { IndexRequest } from './request.ts';

const searchVersion = 'search.portcullis.io/v1alpha1';
const defaultValues = 100;
const mostValues = 1_000;

interface Planned {
  readonly asked: AskedQuery;
  readonly plan: Plan;
  readonly parameters: Parameters;
}

/** Answers one question. @throws GatewayError (rejects) while nothing was sent */
export async function answerQuestion(
  request: IndexRequest,
  part: 'facets' | 'values' | 'counts' | 'freshness' | 'query',
  parts: AnswerParts,
): Promise<void> {
  if (part === 'freshness') {
    await answerFreshness(request, parts);
    return;
  }
  if (part === 'query') {
    await answerPosted(request, parts);
    return;
  }
  request.form(['']);
  const planned = await plan(request, urlParameters(request.query.slice(1)), parts);
  const { asked, plan: made, parameters } = planned;
  const query = queryOf(asked.query, made.views);
  const warnings = [...askedWarnings(asked, false), ...made.warnings];
  const types = made.views.map(({ type }) => `${type.resource}.${type.version}.${type.group}`);
  if (part === 'counts') {
    const count = await parts.store.count(query, made.scope, 'refuse');
    sendJson(request, { kind: 'Counts', apiVersion: searchVersion, resources: types, count }, warnings);
    return;
  }
  const by = readBy(parameters.text('by'));
  const wanted = readLimit(parameters.text('limit'));
  const limit = Math.min(wanted, mostValues);
  if (wanted > limit) {
    const text = `limit ${wanted} is more than the server gives at once: ${limit} values`;
    warnings.unshift({ cluster: undefined, text });
  }
  const name = parameters.text('by')!;
  if (part === 'facets') {
    const facets = await parts.store.facets(query, made.scope, by, limit);
    sendJson(request, { kind: 'Facets', apiVersion: searchVersion, resources: types, by: name, facets }, warnings);
    return;
  }
  const values = await parts.store.values(query, made.scope, by, parameters.all('prefix')[0] ?? '', limit);
  sendJson(request, { kind: 'Values', apiVersion: searchVersion, resources: types, by: name, values }, warnings);
}

async function plan(request: IndexRequest, parameters: Parameters, parts: AnswerParts): Promise<Planned> {
  const named = parameters.list('resource') ?? [];
  if (named.length > mostTypes) throw new GatewayError('BAD_REQUEST', `resource= names more than ${mostTypes} types`);
  const types = [...new Map(named.map(readType).map((type) => [typeKey(type), type])).values()];
  if (types.length === 0)
    throw new GatewayError(
      'BAD_REQUEST',
      'resource= is missing: RESOURCE.VERSION.GROUP, as in pods.v1. or deployments.v1.apps',
    );
  const asked = readQuery(parameters, { types });
  await parts.settled();
  const made = await planAnswer(parts, {
    user: request.user,
    verb: 'list',
    types,
    clusters: asked.query.clusters,
    cluster: undefined,
    byOwner: asked.query.owner !== undefined,
  });
  const missing = types.filter((type) => !made.views.some((view) => typeKey(view.type) === typeKey(type)));
  const [first] = missing;
  if (made.views.length === 0) throw notIndexed(first!, first!.version, undefined, made.warnings);
  // Some of several: whoever misspelt one would take the rest for all.
  const warnings = missing.map((type) => ({ cluster: undefined, text: notIndexed(type, type.version).message }));
  return { asked, plan: { ...made, warnings: [...warnings, ...made.warnings] }, parameters };
}

/** `pods.v1.`, `deployments.v1.apps`; without a version `pods` and `deployments.apps`. */
export function readType(text: string): AskedType {
  const [resource = '', ...rest] = text.trim().split('.');
  const isVersion = /^v\d+((alpha|beta)\d+)?$/.test(rest[0] ?? '');
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[-a-z0-9]*)*$/.test(text.trim()))
    throw new GatewayError('BAD_REQUEST', `resource: "${text.slice(0, 60)}" is not RESOURCE.VERSION.GROUP`);
  return {
    resource,
    version: isVersion ? rest[0] : undefined,
    group: (isVersion ? rest.slice(1) : rest).join('.'),
  };
}

function readBy(text: string | undefined): FacetBy {
  if (text === undefined)
    throw new GatewayError(
      'BAD_REQUEST',
      'by= is missing: cluster, namespace, name, type, or a path such as status.phase',
    );
  if (text === 'type') return text;
  const path = readColumnPath(text, true);
  const column = columnOf(path);
  if (column === 'cluster' || column === 'namespace') return column;
  const [first, second, label] = path;
  const isLabel =
    path.length === 3 &&
    first!.kind === 'key' &&
    first!.key === 'metadata' &&
    second!.kind === 'key' &&
    second!.key === 'labels';
  return isLabel && label!.kind === 'key' ? { label: label!.key } : { path: printPath(path) };
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return defaultValues;
  if (!/^\d{1,9}$/.test(text) || Number(text) === 0)
    throw new GatewayError('BAD_REQUEST', 'limit is a whole number of 1 or more');
  return Number(text);
}

/** What client-go and kubectl add to any URL. */
const clientParameters: ReadonlySet<string> = new Set(['timeout', 'pretty']);

/** The list that a document asks for; a list of one type, or a collection named `query`. */
async function answerPosted(request: IndexRequest, parts: AnswerParts): Promise<void> {
  if (request.inbound.method !== 'POST')
    throw new GatewayError('METHOD_NOT_ALLOWED', 'a query is POSTed, as a JSON document');
  const misplaced = urlParameters(request.query.slice(1)).names.find((name) => !clientParameters.has(name));
  if (misplaced !== undefined)
    throw new GatewayError(
      'BAD_REQUEST',
      `${JSON.stringify(misplaced.slice(0, 60))} stands in the URL; a query has all of it in its document`,
    );
  request.form(['']);
  const parameters = jsonParameters(await request.body());
  const { asked, plan: made } = await plan(request, parameters, parts);
  const show = objectForm(made.views, asked);
  const version = readListVersion(parameters, parts.store);
  const [view] = made.views;
  await sendListPage(
    request,
    () => readListPage(request, asked, queryOf(asked.query, made.views), made, version, parts),
    (meta) =>
      made.views.length === 1 && asked.query.types.length === 1
        ? listDocument(view!.type, meta, show, false)
        : collectionDocument(
            'query',
            made.views.map(({ type }) => type),
            meta,
            show,
          ),
    [...askedWarnings(asked, true), ...made.warnings],
    parts,
  );
}

/** How far the index is with each cluster and type that the caller may list anything of. */
async function answerFreshness(request: IndexRequest, parts: AnswerParts): Promise<void> {
  request.form(['']);
  const parameters = urlParameters(request.query.slice(1));
  const wanted = parameters.list('resource')?.map((text) => typeKey(readType(text)));
  const clusters = parameters.list('clusters');
  const catalog = await parts.catalog();
  const types = askedAbout(catalog, parts).filter((type) => wanted === undefined || wanted.includes(typeKey(type)));
  const answer = await parts.rights.scope(request.user, 'list', types, clusters);
  const nowMs = parts.now();
  const states = parts.states().filter(({ cluster }) => answer.reachable.has(cluster));
  const items = states.map((state) => {
    const { cluster, incarnation, fault, types: followed } = state;
    const { status, reason, message } = indexedOf(state);
    const hidden = answer.hidden.find((each) => each.cluster === cluster);
    const seen = incarnation === undefined ? undefined : answer.scope.grants.get(incarnation.id);
    return {
      cluster,
      indexed: { status, reason, message },
      ...(fault === undefined ? {} : { fault: { reason: fault.reason, message: fault.message } }),
      ...(hidden === undefined ? {} : { hidden: { reason: hidden.reason, message: hidden.message } }),
      resources: followed
        .filter(({ type, isChosen }) => isChosen && seen?.has(typeKey(type)) === true)
        .map((type) => typeFreshness(type, nowMs)),
    };
  });
  sendJson(request, {
    kind: 'Freshness',
    apiVersion: searchVersion,
    resourceVersion: parts.store.resourceVersion(),
    clusters: items,
  });
}

function typeFreshness(
  { type, phase, isWhole, readAs, confirmedAtMs, lagMs, fault }: TypeState,
  nowMs: number,
): object {
  return {
    resource: `${type.resource}.${type.version}.${type.group}`,
    phase,
    whole: isWhole,
    ...(readAs === undefined ? {} : { readAs }),
    ...(confirmedAtMs === undefined
      ? {}
      : {
          confirmedAt: new Date(confirmedAtMs).toISOString(),
          ageSeconds: Math.max(0, Math.round((nowMs - confirmedAtMs) / 1000)),
        }),
    lagMilliseconds: lagMs,
    ...(fault === undefined ? {} : { fault: { reason: fault.reason, message: fault.message } }),
  };
}

/** The one index there is, as an object. */
export function indexObject(resourceVersion: string): object {
  return {
    kind: 'Index',
    apiVersion: apiVersionOf('search.portcullis.io', 'v1alpha1'),
    metadata: { name: 'default', resourceVersion, creationTimestamp: null },
  };
}
