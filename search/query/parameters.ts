// The parameters of a question, from a URL's query or from a JSON document of the same names. A flag without a value
// (`?withContinue`) is true. Commas split a text, never an element of a JSON list. Of a repeated parameter the first
// counts unless it may be repeated.
import { GatewayError } from '../../cache/model/errors.ts';
import { tailStart } from '../../lib/text/text-ends.ts';

/** Limits: far above what clients send. */
const longestQuery = 256 * 1024;
const mostPairs = 2048;
export const mostItems = 10_000;

/** Parameters by name; undefined for one that is missing or an empty text. */
export interface Parameters {
  readonly names: readonly string[];
  /** @throws GatewayError BAD_REQUEST where a JSON document has another type */
  text(name: string): string | undefined;
  /** A comma list: the text of a URL or of a JSON document; in JSON also a list of texts, each taken as it is. */
  list(name: string): readonly string[] | undefined;
  /** Every value of a repeated parameter. */
  all(name: string): readonly string[];
  flag(name: string): boolean | undefined;
}

/**
 * Decodes the query of a URL (after `?`): `+` is a space, the first `=` ends a name.
 * @throws GatewayError BAD_REQUEST for what is no percent-encoding of UTF-8, and for more than {@link mostPairs} pairs
 */
export function decodePairs(rawQuery: string): readonly (readonly [name: string, value: string])[] {
  if (rawQuery.length > longestQuery) throw bad(`the query of the URL is longer than ${longestQuery} characters`);
  // Go drops such a pair, and so does the code that has classified this request.
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

/** Reads the query of a URL. @throws GatewayError BAD_REQUEST, see {@link decodePairs} */
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
    flag: (name) => readFlag(values.get(name)?.[0]),
  };
}

const isBackslash = (code: number): boolean => code === 0x5c;

/** The same parameters without those of other names. */
export function onlyParameters(of: Parameters, names: readonly string[]): Parameters {
  const given = (name: string): boolean => names.includes(name);
  return {
    names: of.names.filter(given),
    text: (name) => (given(name) ? of.text(name) : undefined),
    list: (name) => (given(name) ? of.list(name) : undefined),
    all: (name) => (given(name) ? of.all(name) : []),
    flag: (name) => (given(name) ? of.flag(name) : undefined),
  };
}

/** Without the blanks around it, but not a blank after a backslash, which is part of a value (`data.v=\\ `). */
function trimmed(text: string): string {
  const rest = text.trim();
  const behind = text.trimStart().slice(rest.length);
  const backslashes = rest.length - tailStart(rest, isBackslash);
  return backslashes % 2 === 1 ? rest + behind.slice(0, 1) : rest;
}

/** Kubernetes' conversion of a query value: only `0` and `false` are false (apimachinery/pkg/runtime/converter.go). */
function readFlag(value: string | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  const lower = value.toLowerCase();
  return lower !== 'false' && lower !== '0';
}

/** Fields of a document: the parameters of a URL, and the types that are asked for. */
const documentFields: ReadonlySet<string> = new Set([
  ...['resource', 'clusters', 'namespaces', 'names', 'uids', 'nameContains', 'text', 'labelSelector', 'fieldSelector'],
  ...[
    'filter',
    'ownerUID',
    'ownerName',
    'ownerGR',
    'ownerSeniority',
    'since',
    'before',
    'orderby',
    'limit',
    'continue',
  ],
  ...['withContinue', 'withRemainingCount', 'onlyMetadata', 'injectEvents', 'fields'],
  ...['resourceVersion', 'resourceVersionMatch'],
]);

/**
 * Reads a JSON document:
 * `{"clusters":["a","b"],"labelSelector":"app=web","filter":["a=1,b=2"],"limit":50,"withRemainingCount":true}`.
 * @throws GatewayError BAD_REQUEST unless it is an object, and for a field that no query has: what is misspelt would
 *   ask for more
 */
export function jsonParameters(document: unknown): Parameters {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw bad('the query document must be a JSON object whose fields are named as the parameters of the URL');
  const values = new Map<string, unknown>(Object.entries(document).filter(([, value]) => value !== null));
  const unknown = [...values.keys()].find((name) => !documentFields.has(name));
  if (unknown !== undefined)
    throw bad(
      `${JSON.stringify(unknown.slice(0, 60))} is no field of a query document; there are ${[...documentFields].join(', ')}`,
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

/** A 400 with this message. */
export function bad(message: string): GatewayError {
  return new GatewayError('BAD_REQUEST', message);
}
