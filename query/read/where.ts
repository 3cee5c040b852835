// Reads Clusterpedia's SQL parameters: `whereSQL`, or `whereSQLStatement` with the values of its question marks. They
// are off by default, as in Clusterpedia. What they contain is parsed, and never becomes a part of an SQL statement.
import { GatewayError } from '../../model/errors.ts';
import { jsonIn } from '../../lib/json/exact-json.ts';
import { bad, type Parameters } from '../parameters.ts';
import { parseWhere } from '../where/parse.ts';
import type { Predicate } from '../predicate.ts';
import type { Parameter } from '../where/values.ts';

const names = ['whereSQL', 'whereSQLStatement', 'whereSQLParam', 'whereSQLJSONParams'] as const;
const mostParameters = 10_000;

/**
 * Reads the expression of a request; undefined when it has none.
 * @throws GatewayError BAD_REQUEST when the gateway does not allow it, or for an expression that cannot be read;
 *   INVALID for parameters that cannot be read, or that have no statement, as in Clusterpedia
 */
export function readWhere(parameters: Parameters, isAllowed: boolean): Predicate | undefined {
  const given = names.filter((name) => parameters.names.includes(name));
  if (given.length === 0) return undefined;
  if (!isAllowed)
    throw bad(
      `${given[0]} is not supported: SQL is never taken from a request unless the gateway runs with --index-allow-where-sql; use filter=, fieldSelector or labelSelector`,
    );
  const [whole, statement] = [parameters.text('whereSQL'), parameters.text('whereSQLStatement')];
  const values = valuesOf(parameters);
  if (statement === undefined) {
    if (values !== undefined) throw invalid(given.at(-1)!, 'needs whereSQLStatement');
    return whole === undefined ? undefined : parseWhere('whereSQL', whole);
  }
  if (whole !== undefined) throw bad('give whereSQL or whereSQLStatement, not both');
  return parseWhere('whereSQLStatement', statement, values ?? []);
}

/** The values of question marks; undefined when there are none. JSON wins over single values, as in Clusterpedia. */
function valuesOf(parameters: Parameters): readonly Parameter[] | undefined {
  const json = parameters.text('whereSQLJSONParams');
  const single = parameters.withEmpty('whereSQLParam');
  const values = json === undefined ? (single.length === 0 ? undefined : single) : fromJson(json);
  if (values !== undefined && values.length > mostParameters)
    throw bad(`more than ${mostParameters} parameters of whereSQLStatement`);
  return values;
}

function fromJson(encoded: string): readonly Parameter[] {
  const name = 'whereSQLJSONParams';
  // A plus of the base64 alphabet is a blank in a URL unless it is encoded.
  const text = encoded.replaceAll(' ', '+').replaceAll('-', '+').replaceAll('_', '/');
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(text))
    throw invalid(name, 'is not base64');
  const values = jsonIn(Buffer.from(text, 'base64'));
  if (!Array.isArray(values)) throw invalid(name, 'is not a JSON list');
  if (!values.every(isParameter)) throw invalid(name, 'has a value that is not a text, a number, a boolean or null');
  return values;
}

function isParameter(value: unknown): value is Parameter {
  if (Array.isArray(value)) return value.every((one) => !Array.isArray(one) && isParameter(one));
  return value === null || ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}

function invalid(field: string, why: string): GatewayError {
  return new GatewayError('INVALID', `urlQuery "" is invalid: ${field}: ${why}`, { kind: 'urlQuery' });
}
