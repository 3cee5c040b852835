// Reads requests that name their types in a parameter: POSTed queries, counts, facets, values and freshness.
import { GatewayError } from '../../model/errors.ts';
import { columnOf, readColumnPath } from '../../query/columns.ts';
import { jsonParameters, urlParameters } from '../../query/parameters.ts';
import type { Parameters } from '../../query/parameters.ts';
import { printPath } from '../../query/path.ts';
import { readQuery } from '../../query/read/read-query.ts';
import type { FacetBy } from '../../store/store.ts';
import { typeKey } from '../../query/types.ts';
import { mostTypes } from '../request/inner-path.ts';
import type { AskedType } from '../request/plan-question.ts';
import type { CountsQuestion, FreshnessQuestion, PostedQuestion, ValuesQuestion } from '../api/question.ts';
import type { IndexRequest } from '../request/request.ts';

const defaultValues = 100;
const mostValues = 1_000;
/** Parameters that client-go and kubectl may add to any URL. */
const clientParameters: ReadonlySet<string> = new Set(['timeout', 'pretty']);

/**
 * Reads a list request from a POSTed JSON document.
 * @throws GatewayError (rejects) METHOD_NOT_ALLOWED, BAD_REQUEST, or what `request.body` rejects with
 */
export async function readPosted(request: IndexRequest, allowsWhereSql: boolean): Promise<PostedQuestion> {
  if (request.inbound.method !== 'POST')
    throw new GatewayError('METHOD_NOT_ALLOWED', 'send a query by POST, as a JSON document');
  const misplaced = urlParameters(request.query.slice(1)).names.find((name) => !clientParameters.has(name));
  if (misplaced !== undefined)
    throw new GatewayError(
      'BAD_REQUEST',
      `${JSON.stringify(misplaced.slice(0, 60))} was given in the URL; put all parameters of a query into its JSON document`,
    );
  request.form(['']);
  const parameters = jsonParameters(await request.body());
  const types = namedTypes(parameters);
  return { kind: 'query', types, asked: readQuery(parameters, { types }, allowsWhereSql) };
}

/** Reads a request for counts, facets or values. @throws GatewayError BAD_REQUEST for invalid parameters */
export function readValues(
  request: IndexRequest,
  kind: 'counts' | 'facets' | 'values',
  allowsWhereSql: boolean,
): CountsQuestion | ValuesQuestion {
  request.form(['']);
  const parameters = urlParameters(request.query.slice(1));
  const types = namedTypes(parameters);
  const asked = readQuery(parameters, { types }, allowsWhereSql);
  if (kind === 'counts') return { kind, types, asked };
  const byText = parameters.text('by') ?? '';
  const by = readBy(byText);
  const wanted = readLimit(parameters.text('limit'));
  const limit = Math.min(wanted, mostValues);
  const warnings = wanted > limit ? [`limit ${wanted} is too high; the answer has ${limit} values`] : [];
  const prefix = parameters.all('prefix')[0] ?? '';
  return { kind, types, by, byText, prefix, limit, warnings, asked };
}

export function readFreshness(request: IndexRequest): FreshnessQuestion {
  request.form(['']);
  const parameters = urlParameters(request.query.slice(1));
  const types = parameters.list('resource')?.map((text) => typeKey(readType(text)));
  return { kind: 'freshness', types, clusters: parameters.list('clusters') };
}

function namedTypes(parameters: Parameters): readonly AskedType[] {
  const named = parameters.list('resource') ?? [];
  if (named.length > mostTypes) throw new GatewayError('BAD_REQUEST', `resource= names more than ${mostTypes} types`);
  const types = [...new Map(named.map(readType).map((type) => [typeKey(type), type])).values()];
  if (types.length > 0) return types;
  throw new GatewayError(
    'BAD_REQUEST',
    'resource= is missing: RESOURCE.VERSION.GROUP, as in pods.v1. or deployments.v1.apps',
  );
}

/** Parses a type: `pods.v1.` or `deployments.v1.apps`; without a version `pods` or `deployments.apps`. */
function readType(text: string): AskedType {
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

function readBy(text: string): FacetBy {
  if (text === '')
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
