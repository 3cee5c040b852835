// Decides whether one object satisfies a query. The SQL of every store must give the same result as this file. Negative
// operators match when the label or field is missing. `Gt` and `Lt` compare labels as integers, and fields as numbers,
// quantities or times, depending on the operand.
import { typeKey, type RowKey } from './types.ts';
import { compare, readComparable } from './comparable.ts';
import { controllerOf } from './owner-references.ts';
import { compileWhere } from './match-where.ts';
import { documentPaths, readDocument, readValues, type Found } from './document.ts';
import type { PathStep } from '../lib/json/raw-json.ts';
import type { FieldRequirement, LabelRequirement, ListQuery } from './list-query.ts';

/**
 * Whether an object whose controller has this uid ('' for an object without one) satisfies `query.owner`. The store
 * provides this function, because only a store can look up the owner of an owner.
 */
export type OwnerTest = (ownerUid: string) => boolean;

export type Matcher = (document: unknown, key: RowKey) => boolean;

type Test = (document: unknown, key: RowKey) => boolean;

/**
 * Whether one row satisfies a query. For many rows, {@link compileMatcher} is faster.
 * @param document JSON bytes or the parsed object; with bytes, numbers keep their exact text
 */
export function matches(query: ListQuery, document: unknown, key: RowKey, isOwned?: OwnerTest): boolean {
  return compileMatcher(query, isOwned)(document, key);
}

/**
 * Prepares a query, so that many rows can be tested fast. The returned function throws SyntaxError when bytes are not
 * JSON.
 * @param isOwned tests `query.owner`. Without it, only a query for a direct owner by uid can match rows
 */
export function compileMatcher(query: ListQuery, isOwned?: OwnerTest): Matcher {
  const tests: Test[] = [...keyTests(query), ...metadataTests(query, isOwned)];
  const conditions = [...query.fields.map((field) => [field]), ...query.anyOf].map((any) => any.map(compileField));
  if (conditions.length > 0) tests.push(fieldsTest(conditions));
  if (query.where !== undefined) tests.push(compileWhere(query.where));
  return (document, key) => tests.every((test) => test(document, key));
}

function keyTests(query: ListQuery): readonly Test[] {
  const tests: Test[] = [];
  const types = new Set(query.types.map(typeKey));
  tests.push((_, { type }) => types.has(type));
  const among = (read: (key: RowKey) => string, values: readonly string[] | undefined, wanted: boolean): void => {
    if (values === undefined) return;
    const set = new Set(values);
    tests.push((_, key) => set.has(read(key)) === wanted);
  };
  among(({ cluster }) => cluster, query.clusters, true);
  among(({ cluster }) => cluster, query.notClusters, false);
  among(({ namespace }) => namespace, query.namespaces, true);
  among(({ namespace }) => namespace, query.notNamespaces, false);
  among(({ name }) => name, query.names, true);
  among(({ name }) => name, query.notNames, false);
  for (const part of query.nameContains) tests.push((_, { name }) => name.includes(part));
  return tests;
}

const metadata = (key: string): readonly PathStep[] => [
  { kind: 'key', key: 'metadata' },
  { kind: 'key', key },
];
const uidPath = documentPaths([metadata('uid')]);
const createdPath = documentPaths([metadata('creationTimestamp')]);
const labelsPath = documentPaths([metadata('labels')]);
const ownersPath = documentPaths([metadata('ownerReferences')]);

function metadataTests(query: ListQuery, isOwned: OwnerTest | undefined): readonly Test[] {
  const tests: Test[] = [];
  if (query.uids !== undefined) {
    const uids = new Set(query.uids);
    tests.push((document) => uids.has(first(readDocument(document, uidPath))));
  }
  const { createdSinceMs = Number.NEGATIVE_INFINITY, createdBeforeMs = Number.POSITIVE_INFINITY } = query;
  if (query.createdSinceMs !== undefined || query.createdBeforeMs !== undefined) {
    tests.push((document) => {
      const createdMs = Date.parse(first(readDocument(document, createdPath)));
      return createdMs >= createdSinceMs && createdMs < createdBeforeMs;
    });
  }
  if (query.labels.length > 0) {
    const labels = query.labels.map(compileLabel);
    tests.push((document) => {
      const present = labelsOf(document);
      return labels.every((test) => test(present));
    });
  }
  const texts = query.text.map((text) => text.toLowerCase());
  if (texts.length > 0) tests.push((document, { name }) => holdsTexts(name, labelsOf(document), texts));
  if (query.owner !== undefined) {
    const { uid, seniority } = query.owner;
    const test = isOwned ?? ((ownerUid: string) => seniority === 0 && uid !== undefined && uid === ownerUid);
    tests.push((document) => test(controllerUid(document)));
  }
  return tests;
}

function first(found: readonly (readonly Found[])[]): string {
  return found[0]?.[0] ?? '';
}

type Labels = ReadonlyMap<string, string>;

/** The labels of an object. A key such as `__proto__` is a label only if the object itself has it. */
export function labelsOf(document: unknown): Labels {
  const labels = readValues(document, labelsPath)[0]![0];
  if (typeof labels !== 'object' || labels === null) return new Map();
  return new Map(Object.entries(labels).map(([key, value]) => [key, String(value)]));
}

/** The uid of the owner reference with `controller: true`; '' when there is none. */
export function controllerUid(document: unknown): string {
  return controllerOf(readValues(document, ownersPath)[0]![0]);
}

function holdsTexts(name: string, labels: Labels, texts: readonly string[]): boolean {
  const places = [name, ...labels.keys(), ...labels.values()].map((place) => place.toLowerCase());
  return texts.every((text) => places.some((place) => place.includes(text)));
}

/** Returns a function that tests an object's labels (apimachinery/pkg/labels.Requirement.Matches). */
export function compileLabel({ key, operator, values }: LabelRequirement): (labels: Labels) => boolean {
  switch (operator) {
    case 'Exists':
      return (labels) => labels.has(key);
    case 'DoesNotExist':
      return (labels) => !labels.has(key);
    case 'In':
    case 'NotIn': {
      const set: ReadonlySet<string | undefined> = new Set(values);
      return (labels) => set.has(labels.get(key)) === (operator === 'In');
    }
    default: {
      const bound = labelInteger(values[0]);
      return (labels) => {
        const value = labelInteger(labels.get(key));
        if (value === undefined || bound === undefined) return false;
        return operator === 'Gt' ? value > bound : value < bound;
      };
    }
  }
}

const integer = /^[+-]?\d{1,19}$/;
const largestInteger = 2n ** 63n - 1n;

/**
 * The integer in a label value, as strconv.ParseInt(…, 10, 64) reads it; undefined for other texts and for integers
 * that do not fit into 64 bits.
 */
function labelInteger(text: string | undefined): bigint | undefined {
  if (text === undefined || !integer.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value > largestInteger || value < -largestInteger - 1n ? undefined : value;
}

interface CompiledField {
  readonly path: readonly PathStep[];
  readonly test: (found: readonly Found[]) => boolean;
}

/** A test of all field conditions together, which reads each object only once. */
function fieldsTest(conditions: readonly (readonly CompiledField[])[]): Test {
  const paths = documentPaths(conditions.flat().map(({ path }) => path));
  return (document) => {
    const found = readDocument(document, paths);
    let at = 0;
    return conditions.every((any) => {
      const start = at;
      at += any.length;
      return any.some(({ test }, i) => test(found[start + i]!));
    });
  };
}

function compileField({ path, operator, values }: FieldRequirement): CompiledField {
  const set: ReadonlySet<Found> = new Set(values);
  const isIn = (found: readonly Found[]): boolean => found.some((value) => typeof value === 'string' && set.has(value));
  const exists = (found: readonly Found[]): boolean => found.some((value) => value !== null);
  switch (operator) {
    case 'Equals':
    case 'In':
      return { path, test: isIn };
    case 'NotEquals':
    case 'NotIn':
      return { path, test: (found) => !isIn(found) };
    case 'Exists':
      return { path, test: exists };
    case 'DoesNotExist':
      return { path, test: (found) => !exists(found) };
    case 'Contains':
      return { path, test: (found) => found.some((value) => value?.includes(values[0]!)) };
    case 'Gt':
    case 'Lt':
      return { path, test: comparison(values[0]!, operator === 'Gt' ? 1 : -1) };
  }
}

function comparison(operand: string, wanted: 1 | -1): (found: readonly Found[]) => boolean {
  const bound = readComparable(operand);
  if (bound === undefined) return () => false;
  return (found) =>
    found.some((text) => {
      const value = typeof text === 'string' ? readComparable(text) : undefined;
      const order = value === undefined ? undefined : compare(value, bound);
      return order !== undefined && Math.sign(order) === wanted;
    });
}
