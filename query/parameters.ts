// Reads the parameters of a query, from the query string of a URL or from a JSON document with the same names. A flag
// without a value (`?withContinue`) is true. Commas separate items in a text, but not within the elements of a JSON
// list. When a parameter that takes one value is repeated, the first one counts.
import { GatewayError } from '../model/errors.ts';
import { tailStart } from '../lib/text/text-ends.ts';

/**
 * The most characters, and the most name-value pairs, of a URL's query. Longer ones are refused; clients send far less.
 */
const longestQuery = 256 * 1024;
const mostPairs = 2048;
export const mostItems = 10_000;

/**
 * Access to parameters by name. For a parameter that is absent or empty, methods return undefined, and `all` returns an
 * empty list.
 */
export interface Parameters {
  readonly names: readonly string[];
  /**
   * The parameter's first value.
   * @throws GatewayError BAD_REQUEST when a JSON document has something else there than a text or a whole number
   */
  text(name: string): string | undefined;
  /**
   * The items of a comma-separated text. A JSON document may also give a list of texts, whose elements are not split.
   */
  list(name: string): readonly string[] | undefined;
  /** All values of a parameter that may be repeated. */
  all(name: string): readonly string[];
  /** As {@link all}, but empty and blank values are included. */
  withEmpty(name: string): readonly string[];
  flag(name: string): boolean | undefined;
}

/**
 * Decodes the query string of a URL (the part after `?`). `+` means a space, and the first `=` ends the name.
 * @throws GatewayError BAD_REQUEST when the query string is not percent-encoded UTF-8, has a semicolon, or exceeds a
 *   limit
 */
export function decodePairs(rawQuery: string): readonly (readonly [name: string, value: string])[] {
  if (rawQuery.length > longestQuery) throw bad(`the query of the URL is longer than ${longestQuery} characters`);
  // Go's parser drops a pair that contains a semicolon, and so does the code that decided the verb of this request.
  // This code must read the same parameters as both, so such a query is refused.
  if (rawQuery.includes(';')) throw bad('the query of the URL has a semicolon: write it as %3B');
  const parts = rawQuery.split('&').filter((part) => part !== '');
  if (parts.length > mostPairs) throw bad(`the query of the URL has more than ${mostPairs} parameters`);
  return parts.map((part) => {
    const equal = part.indexOf('=');
    return equal < 0 ? [decode(part), ''] : [decode(part.slice(0, equal)), decode(part.slice(equal + 1))];
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw bad('the query of the URL is not percent-encoded UTF-8');
  }
}

/** Reads the query string of a URL. @throws GatewayError BAD_REQUEST, see {@link decodePairs} */
export function urlParameters(rawQuery: string): Parameters {
  const values = new Map<string, string[]>();
  for (const [name, value] of decodePairs(rawQuery)) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  const text = (name: string): string | undefined => trimmed(values.get(name)?.[0] ?? '') || undefined;
  return {
    names: [...values.keys()],
    text,
    list: (name) => limitItems(name, text(name)?.split(',')),
    all: (name) => (values.get(name) ?? []).filter((value) => value.trim() !== ''),
    withEmpty: (name) => values.get(name) ?? [],
    flag: (name) => readFlag(values.get(name)?.[0]),
  };
}

const isBackslash = (code: number): boolean => code === 0x5c;

/** Returns the parameters with only these names; all others appear to be absent. */
export function onlyParameters(of: Parameters, names: readonly string[]): Parameters {
  const given = (name: string): boolean => names.includes(name);
  return {
    names: of.names.filter(given),
    text: (name) => (given(name) ? of.text(name) : undefined),
    list: (name) => (given(name) ? of.list(name) : undefined),
    all: (name) => (given(name) ? of.all(name) : []),
    withEmpty: (name) => (given(name) ? of.withEmpty(name) : []),
    flag: (name) => (given(name) ? of.flag(name) : undefined),
  };
}

/**
 * Removes surrounding blanks. A blank after an unescaped backslash stays, because it is part of a value (`data.v=\\ `).
 */
function trimmed(text: string): string {
  const rest = text.trim();
  const behind = text.trimStart().slice(rest.length);
  const backslashes = rest.length - tailStart(rest, isBackslash);
  return backslashes % 2 === 1 ? rest + behind.slice(0, 1) : rest;
}

/** Parses a flag as Kubernetes does: only `0` and `false` mean false (apimachinery/pkg/runtime/converter.go). */
function readFlag(value: string | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  const lower = value.toLowerCase();
  return lower !== 'false' && lower !== '0';
}

/** The parameters that only the index has. API servers do not know them, and ignore them. */
export const indexParameters: ReadonlySet<string> = new Set([
  ...['namespaces', 'names', 'uids', 'nameContains', 'text', 'filter', 'since', 'before', 'orderby'],
  ...['ownerUID', 'ownerName', 'ownerGR', 'ownerSeniority'],
  ...['withContinue', 'withRemainingCount', 'onlyMetadata', 'injectEvents', 'fields'],
  ...['whereSQL', 'whereSQLStatement', 'whereSQLParam', 'whereSQLJSONParams'],
]);

/** The fields that a query as a JSON document may have: the parameters of the URL, and `resource`. */
const documentFields: ReadonlySet<string> = new Set([
  ...['resource', 'clusters', 'labelSelector', 'fieldSelector', ...indexParameters],
  ...['limit', 'continue', 'resourceVersion', 'resourceVersionMatch'],
]);

/**
 * Reads parameters from a JSON document, such as
 * `{"clusters":["a","b"],"labelSelector":"app=web","filter":["a=1,b=2"],"limit":50,"withRemainingCount":true}`.
 * @throws GatewayError BAD_REQUEST when the document is not an object or has an unknown field. Unknown fields are not
 *   ignored, because a query with a misspelt condition would return too many rows
 */
export function jsonParameters(document: unknown): Parameters {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw bad('the query document must be a JSON object whose fields are named as the parameters of the URL');
  const values = new Map<string, unknown>(Object.entries(document).filter(([, value]) => value !== null));
  const unknown = [...values.keys()].find((name) => !documentFields.has(name));
  if (unknown !== undefined)
    throw bad(
      `${JSON.stringify(unknown.slice(0, 60))} is not a field of a query document; the fields are ${[...documentFields].join(', ')}`,
    );
  const text = (name: string): string | undefined => {
    const value = values.get(name);
    if (value === undefined || typeof value === 'string') return value === '' ? undefined : value;
    if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
    throw bad(`${name} of the query document must be a text or a whole number`);
  };
  const all = (name: string): readonly string[] | undefined => {
    const value = values.get(name);
    if (value === undefined) return undefined;
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!items.every((item) => typeof item === 'string'))
      throw bad(`${name} of the query document must be a list of texts`);
    return limitItems(name, items);
  };
  return {
    names: [...values.keys()],
    text,
    list: (name) =>
      typeof values.get(name) === 'string' ? limitItems(name, text(name)?.trim().split(',')) : all(name),
    all: (name) => all(name) ?? [],
    withEmpty: (name) => all(name) ?? [],
    flag(name) {
      const value = values.get(name);
      if (value === undefined || typeof value === 'boolean') return value;
      throw bad(`${name} of the query document must be true or false`);
    },
  };
}

function limitItems(name: string, items: readonly string[] | undefined): readonly string[] | undefined {
  if (items !== undefined && items.length > mostItems) throw bad(`${name} has more than ${mostItems} items`);
  return items;
}

/** Returns, without throwing it, the error for a 400 answer with this message. */
export function bad(message: string): GatewayError {
  return new GatewayError('BAD_REQUEST', message);
}
