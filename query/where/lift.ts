// Moves parts of a `whereSQL` expression to other fields of the query that have the same meaning. Stores have indexes
// for these fields: lists of clusters, namespaces and names, times of creation, and conditions on fields. What remains
// is tested by its own SQL, or in the JSON of each object.
import type { PathStep } from '../../lib/json/raw-json.ts';
import type { FieldRequirement, ListQuery } from '../list-query.ts';
import { amongTexts, isLeaf, type Comparison, type Leaf, type Operand, type Predicate } from '../predicate.ts';
import { mergeComparisons } from './merge.ts';

type Draft = { -readonly [Key in keyof ListQuery]: ListQuery[Key] };

/** Returns a query that matches the same rows and has as little as possible in `where`. */
export function liftWhere(query: ListQuery): ListQuery {
  if (query.where === undefined) return query;
  const { where, ...draft }: Draft = query;
  const merged = mergeComparisons(where!);
  const rest = (merged.kind === 'and' ? merged.of : [merged]).filter((one) => !isLifted(draft, one));
  if (rest.length === 0) return draft;
  return { ...draft, where: rest.length === 1 ? rest[0]! : { kind: 'and', of: rest } };
}

function isLifted(draft: Draft, predicate: Predicate): boolean {
  if (predicate.kind === 'constant') return predicate.value;
  if (predicate.kind === 'or') {
    const any = predicate.of.map((one) => (isLeaf(one) ? requirementsOf(one) : undefined));
    if (!any.every((some) => some?.length === 1)) return false;
    draft.anyOf = [...draft.anyOf, any.flatMap((some) => some!)];
    return true;
  }
  if (predicate.kind === 'and') return false;
  if (isKeyLifted(draft, predicate) || isTimeLifted(draft, predicate)) return true;
  const fields = requirementsOf(predicate);
  if (fields === undefined) return false;
  draft.fields = [...draft.fields, ...fields];
  return true;
}

/** The part of a name that `LIKE '%part%'` looks for; undefined for other patterns. */
export function partOf(leaf: Leaf): string | undefined {
  if (leaf.kind !== 'like' || leaf.isNegated || leaf.ignoresCase) return undefined;
  return /^%([^%_\\]+)%$/.exec(leaf.pattern)?.[1];
}

const keyLists = {
  cluster: ['clusters', 'notClusters'],
  namespace: ['namespaces', 'notNamespaces'],
  name: ['names', 'notNames'],
  uid: ['uids', undefined],
} as const;

function isKeyLifted(draft: Draft, leaf: Leaf): boolean {
  if (leaf.kind === 'constant' || leaf.left.kind !== 'column') return false;
  const { column } = leaf.left;
  if (!Object.hasOwn(keyLists, column)) return false;
  const part = column === 'name' ? partOf(leaf) : undefined;
  if (part !== undefined) {
    draft.nameContains = [...draft.nameContains, part];
    return true;
  }
  const among = amongTexts(leaf);
  if (among === undefined) return false;
  const [wanted, unwanted] = keyLists[column as keyof typeof keyLists];
  if (among.isNegated) {
    if (unwanted === undefined) return false;
    draft[unwanted] = [...(draft[unwanted] ?? []), ...among.texts];
    return true;
  }
  const texts = [...new Set(among.texts)];
  draft[wanted] = draft[wanted]?.filter((text) => texts.includes(text)) ?? texts;
  return true;
}

/** The times that a condition on `created_at` allows: from `since` on, and before `before`; in Unix milliseconds. */
export interface TimeRange {
  readonly since?: number;
  readonly before?: number;
}

/** The range of a comparison of `created_at` with a time; undefined for `<>` and for other conditions. */
export function timeRange(leaf: Leaf): TimeRange | undefined {
  if (leaf.kind !== 'compare' || leaf.left.kind !== 'column' || leaf.right.kind !== 'literal') return undefined;
  const { operator, right } = leaf;
  if (right.type !== 'time') return undefined;
  const ranges: Readonly<Record<Comparison, TimeRange | undefined>> = {
    '=': { since: right.value, before: right.value + 1 },
    '>=': { since: right.value },
    '>': { since: right.value + 1 },
    '<': { before: right.value },
    '<=': { before: right.value + 1 },
    '<>': undefined,
  };
  return ranges[operator];
}

function isTimeLifted(draft: Draft, leaf: Leaf): boolean {
  const range = timeRange(leaf);
  if (range === undefined) return false;
  const { since, before } = range;
  if (since !== undefined) draft.createdSinceMs = Math.max(since, draft.createdSinceMs ?? since);
  if (before !== undefined) draft.createdBeforeMs = Math.min(before, draft.createdBeforeMs ?? before);
  return true;
}

/**
 * The conditions on fields that together mean the same as a condition on a path; undefined when none do. Conditions on
 * fields compare the texts of scalars as they were written, and never the text of an object or a list.
 */
export function requirementsOf(leaf: Leaf): readonly FieldRequirement[] | undefined {
  if (leaf.kind === 'constant' || leaf.left.kind !== 'path' || leaf.left.path.length === 0) return undefined;
  const { path, type } = leaf.left;
  if (leaf.kind === 'null') {
    if (type !== 'text') return undefined;
    return [{ path, operator: leaf.isNegated ? 'Exists' : 'DoesNotExist', values: [] }];
  }
  const among = amongTexts(leaf);
  if (among === undefined || !among.texts.every((text) => isSameText(leaf.left, text))) return undefined;
  if (!among.isNegated) return [{ path, operator: 'In', values: among.texts }];
  // JSON_EXTRACT reads a JSON null as a value that differs from every text, which conditions on fields cannot express.
  // `->>` reads it as NULL.
  if (type !== 'text') return undefined;
  return [
    { path, operator: 'NotIn', values: among.texts },
    { path, operator: 'Exists', values: [] },
  ];
}

/**
 * Whether a value at the path equals this text exactly when the value is a scalar that is written like this. False when
 * the text may be a number, which can be written in several ways, or an object or list as text.
 */
function isSameText(operand: Operand, text: string): boolean {
  if (operand.kind !== 'path') return false;
  if (isOfTexts(operand.path)) return !/^[[{]/.test(text);
  if (/^[-\d[{]/.test(text)) return false;
  // JSON_EXTRACT tells the text 'true' from the boolean.
  return operand.type === 'text' || (operand.type === 'json' && text !== 'true' && text !== 'false');
}

/** Whether Kubernetes allows only texts at this path: the values of labels and annotations. */
function isOfTexts(path: readonly PathStep[]): boolean {
  const [metadata, map] = path.map((step) => (step.kind === 'key' ? step.key : undefined));
  return path.length === 3 && metadata === 'metadata' && (map === 'labels' || map === 'annotations');
}
