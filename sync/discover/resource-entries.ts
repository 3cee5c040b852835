// Reads the grammar in which resources are named: in `--index-resources`, in the options that narrow the index, in
// labels and in annotations. An entry is `RESOURCE`, `RESOURCE.GROUP`, `*.GROUP` or `*`, perhaps with conditions in
// braces.
import type { TypeInfo } from '../../query/types.ts';

/** The keys that may stand in the braces of an entry, as `namespaces` in `pods{namespaces=a b}`. */
export type BraceKey = 'namespaces' | 'names' | 'labels' | 'fields';

/** The resource that an entry names. */
export interface NamedResource {
  /** API group; `*` means any group. */
  readonly group: string;
  /** Plural name; `*` means all resources of the group. */
  readonly resource: string;
}

/** One entry after it was parsed. */
export interface ResourceEntry extends NamedResource {
  /** The text behind each key in the braces; undefined without braces. */
  readonly braces: ReadonlyMap<BraceKey, string> | undefined;
}

const entryForm = /^(\*|[a-z0-9][-a-z0-9]*)(?:\.([a-z0-9][-a-z0-9.]*|\*))?(?:\{(.*)\})?$/s;

/**
 * Reads one entry.
 * @param keys the keys that its braces may have
 * @throws Error whose message names the faulty entry
 */
export function parseEntry(entry: string, keys: readonly BraceKey[]): ResourceEntry {
  const form = entryForm.exec(entry.trim());
  if (form === null) throw new Error(`"${entry}" is no resource: write RESOURCE or RESOURCE.GROUP, or "*" for all`);
  const [, resource, group, braces] = form;
  return {
    resource: resource!,
    group: group ?? (resource === '*' ? '*' : ''),
    braces: braces === undefined ? undefined : parseBraces(entry, braces, keys),
  };
}

function parseBraces(entry: string, text: string, keys: readonly BraceKey[]): ReadonlyMap<BraceKey, string> {
  const found = new Map<BraceKey, string>();
  for (const part of text.split(';')) {
    const at = part.indexOf('=');
    const [name, value] = [part.slice(0, Math.max(at, 0)).trim(), part.slice(at + 1).trim()];
    const key = keys.find((each) => each === name);
    if (key === undefined || value === '' || found.has(key)) {
      const allowed = keys.map((each) => `${each}=`);
      const shown = [allowed.slice(0, -1).join(', '), ...allowed.slice(-1)].filter((each) => each !== '').join(' or ');
      throw new Error(`"${entry}": only ${shown} may stand in braces, separated by ";"`);
    }
    found.set(key, value);
  }
  return found;
}

/** Splits a text in braces at its white space. */
export function wordsOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(/\s+/);
}

/**
 * Whether a name means exactly this type: plural or singular, in upper or lower case, as PediaClusters may write it.
 */
export function isNamed(type: TypeInfo, { group, resource }: NamedResource): boolean {
  if (group !== type.group && group !== '*') return false;
  const name = resource.toLowerCase();
  return name === type.resource || name === type.singular;
}

/** Whether an entry means this type, by its name or by a `*`. */
export function isMeant(type: TypeInfo, entry: NamedResource): boolean {
  if (entry.resource === '*') return entry.group === '*' || entry.group === type.group;
  return isNamed(type, entry);
}
