// Reads the options that narrow the index: what is excluded, which objects of a type are selected, and which fields are
// pruned. They stand in the configuration, and as annotations on the object that registers a cluster. All of them apply
// together, and each can only take something away. So nobody who may annotate a cluster brings more of it into the
// index than the operator has chosen.
import type { PathStep } from '../../lib/json/raw-json.ts';
import { parsePath, printPath } from '../../query/path.ts';
import { parseLabelSelector } from '../../query/selectors/label-selector.ts';
import type { TypeFilter } from '../member/sync-types.ts';
import { splitIndexResources } from '../../lib/rights/index-rules.ts';
import { parseEntry, wordsOf, type NamedResource } from './resource-entries.ts';

/** The names of the options, as keys of the configuration file and behind the prefix of the annotations. */
export const optionNames = ['exclude', 'select', 'prune'] as const;
type OptionName = (typeof optionNames)[number];

/** The prefix of the annotations that carry options, such as `index.portcullis.io/exclude`. */
export const optionPrefix = 'index.portcullis.io/';

/** The options as text, not parsed yet: each is a list of entries. */
export type WrittenOptions = { readonly [Name in OptionName]?: readonly string[] | undefined };

/** Objects that are not indexed. Without namespaces and names: the whole type. */
export interface Exclusion extends NamedResource {
  readonly namespaces?: readonly string[];
  readonly names?: readonly string[];
}

/** An option that limits a type to the objects that pass the filter. */
export interface Selected extends NamedResource {
  readonly filter: TypeFilter;
}

/** Fields that are dropped before an object is stored. */
export interface Pruned extends NamedResource {
  /** Paths in their canonical form, such as `spec.containers[].env`. */
  readonly fields: readonly string[];
}

/** The options that apply to one cluster. */
export interface IndexOptions {
  readonly exclude: readonly Exclusion[];
  readonly select: readonly Selected[];
  readonly prune: readonly Pruned[];
}

export const noOptions: IndexOptions = Object.freeze({ exclude: [], select: [], prune: [] });

/** Joins options from several places. All of them apply. */
export function joinedOptions(all: readonly IndexOptions[]): IndexOptions {
  const [first] = all;
  if (first === undefined) return noOptions;
  if (all.length === 1) return first;
  return {
    exclude: all.flatMap(({ exclude }) => exclude),
    select: all.flatMap(({ select }) => select),
    prune: all.flatMap(({ prune }) => prune),
  };
}

/** Reads options. @throws Error whose message names the faulty entry */
export function parseOptions({ exclude = [], select = [], prune = [] }: WrittenOptions): IndexOptions {
  return { exclude: exclude.map(parseExclusion), select: select.map(parseSelected), prune: prune.map(parsePruned) };
}

const parsers: Readonly<Record<OptionName, (entry: string) => unknown>> = {
  exclude: parseExclusion,
  select: parseSelected,
  prune: parsePruned,
};

/** The syntax of the entries of each option, for error messages. */
const spellings: Readonly<Record<OptionName, string>> = {
  exclude: 'TYPE, TYPE{namespaces=a b} or TYPE{names=x y}',
  select: 'TYPE{namespaces=a b;names=x y;labels=app in (web)}',
  prune: 'TYPE{fields=data spec.containers[].env}',
};

/**
 * Maximum length of an annotation's value in characters, and maximum number of its entries. An annotation above one of
 * these limits counts as unreadable.
 */
const longestValue = 16_384;
const mostEntries = 256;

/** What the annotations of a cluster's object say, or why they cannot be read. */
export type AnnotatedOptions =
  | { readonly options: IndexOptions }
  | {
      /** The message for everybody who may see the cluster. It quotes nothing from the annotations. */
      readonly fault: string;
      /** The message for the log, which may quote the annotations. */
      readonly detail: string;
    };

/**
 * Reads the annotations of a cluster's object.
 * @param annotations the annotations whose names begin with {@link optionPrefix}, keyed by their full names
 */
export function parseAnnotations(annotations: Readonly<Record<string, string>>): AnnotatedOptions {
  const written: { [Name in OptionName]?: readonly string[] } = {};
  for (const [key, value] of Object.entries(annotations)) {
    const name = optionNames.find((each) => key === optionPrefix + each);
    if (name === undefined) {
      const known = optionNames.map((each) => optionPrefix + each).join(', ');
      return faultOf(`its annotation ${key.slice(0, 100)} is none that this version knows; there are ${known}`);
    }
    const entries = splitIndexResources(value);
    if (value.length > longestValue || entries.length > mostEntries)
      return faultOf(`its annotation ${key} has more than ${longestValue} characters or ${mostEntries} entries`);
    for (const [index, entry] of entries.entries()) {
      try {
        parsers[name](entry);
      } catch (error) {
        const fault = `entry ${index + 1} of its annotation ${key} cannot be read; write ${spellings[name]}`;
        return { fault, detail: error instanceof Error ? error.message : fault };
      }
    }
    written[name] = entries;
  }
  return { options: parseOptions(written) };
}

function faultOf(fault: string): AnnotatedOptions {
  return { fault, detail: fault };
}

function parseExclusion(entry: string): Exclusion {
  const { group, resource, braces } = parseEntry(entry, ['namespaces', 'names']);
  if (braces === undefined) return { group, resource };
  if (braces.size > 1) throw new Error(`"${entry}" has both namespaces= and names=: write two entries`);
  const [namespaces, names] = [wordsOf(braces.get('namespaces')), wordsOf(braces.get('names'))];
  requireNames(entry, namespaces, names);
  return { group, resource, ...(namespaces && { namespaces }), ...(names && { names }) };
}

function parseSelected(entry: string): Selected {
  const { group, resource, braces } = parseEntry(entry, ['namespaces', 'names', 'labels']);
  if (braces === undefined) throw new Error(`"${entry}" selects nothing: write ${spellings.select}`);
  return { group, resource, filter: filterOf(entry, braces) };
}

/** The filter that the braces of an entry describe. @throws Error whose message names the entry */
export function filterOf(entry: string, braces: NonNullable<ReturnType<typeof parseEntry>['braces']>): TypeFilter {
  const [namespaces, names] = [wordsOf(braces.get('namespaces')), wordsOf(braces.get('names'))];
  const labels = braces.get('labels');
  if (labels !== undefined) parseLabelSelector(labels);
  requireNames(entry, namespaces, names);
  return { ...(namespaces && { namespaces }), ...(names && { names }), ...(labels !== undefined && { labels }) };
}

/** The syntax of names in options. It is strict, since names become parts of request paths and of field selectors. */
const nameForm = /^[A-Za-z0-9]([-A-Za-z0-9_.:]{0,251}[A-Za-z0-9])?$/;

function requireNames(entry: string, ...lists: readonly (readonly string[] | undefined)[]): void {
  const wrong = lists.flatMap((list) => list ?? []).find((name) => !nameForm.test(name));
  if (wrong !== undefined) throw new Error(`"${entry}": "${wrong}" is no name`);
}

function parsePruned(entry: string): Pruned {
  const { group, resource, braces } = parseEntry(entry, ['fields']);
  if (braces === undefined) throw new Error(`"${entry}" names no field: write ${spellings.prune}`);
  return { group, resource, fields: wordsOf(braces.get('fields'))!.map((text) => printPath(prunedPath(entry, text))) };
}

/** Fields below `metadata` that every row needs, so that they cannot be pruned. */
const neededMetadata: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'labels',
  'ownerReferences',
]);

/**
 * Parses the path of a field to prune. When the path ends in `[]`, the whole list is pruned.
 * @throws Error when every row needs the field
 */
function prunedPath(entry: string, text: string): readonly PathStep[] {
  const path = parsePath(text, true);
  if (path.some(({ kind }) => kind === 'index'))
    throw new Error(`"${entry}": "${text}" prunes one element of a list; write [] for all`);
  const end = path.findLastIndex(({ kind }) => kind === 'key') + 1;
  const [first, second] = path;
  const top = first?.kind === 'key' ? first.key : '';
  const isNeeded =
    top === 'apiVersion' ||
    top === 'kind' ||
    (top === 'metadata' && (second?.kind !== 'key' || neededMetadata.has(second.key)));
  if (isNeeded) throw new Error(`"${entry}": "${text}" is needed in every row and cannot be pruned`);
  return path.slice(0, end);
}
