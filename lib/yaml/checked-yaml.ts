// Parses a YAML file that the operator wrote, checks it against a schema, and reports all faults with their lines. Easy
// to get wrong: a message must never quote a value, because somebody may have passed the wrong file, with tokens in it.
// Only field names are quoted.
import { LineCounter, isCollection, isMap, isNode, isScalar, parseDocument, visit } from 'yaml';
import type { Document } from 'yaml';
import type { z } from 'zod';
import type { ConfigurationFault } from '../configuration-error.ts';
import { faultText, goYaml, onlyDocument, plainValue, YamlFault } from './go-yaml.ts';

/** The parsed value, or all faults in the order of the file. */
export type CheckedYaml<T> = { readonly value: T } | { readonly faults: readonly ConfigurationFault[] };

/** A field of a YAML document that `edit` refuses. */
export interface FieldFault {
  /** Where the field begins in the text. */
  readonly offset: number;
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * Parses one YAML document.
 * @param source the text of the file
 * @param file name of the file for messages
 * @param edit changes the parsed document before it is checked against the schema; may refuse one of its fields
 */
export function readYaml<T>(
  source: string,
  file: string,
  schema: z.ZodType<T>,
  edit?: (document: Document) => FieldFault | undefined,
): CheckedYaml<T> {
  const lines = new LineCounter();
  const place = (offset: number): Pick<ConfigurationFault, 'file' | 'line' | 'column'> => {
    const { line, col } = lines.linePos(offset);
    return { file, line, column: col };
  };
  let document: Document.Parsed;
  try {
    document = onlyDocument(source, lines) ?? parseDocument('', goYaml);
  } catch (error) {
    return { faults: [faultOf(file, error)] };
  }
  const broken = [...document.errors, ...document.warnings];
  if (broken.length > 0) {
    return { faults: broken.map((error) => ({ ...place(error.pos[0]), message: faultText(error) })) };
  }
  const keyOffset = collectionKeyOffset(document);
  if (keyOffset !== undefined) return { faults: [{ ...place(keyOffset), message: collectionKey }] };
  const refused = edit?.(document);
  if (refused !== undefined) {
    const { offset, path, message } = refused;
    return { faults: [{ ...place(offset), path: pathText(path), message }] };
  }
  let plain: unknown;
  try {
    plain = plainValue(document, lines, mostOfAliases);
  } catch (error) {
    return { faults: [faultOf(file, error)] };
  }
  const result = schema.safeParse(plain, { error: plainMessage });
  if (result.success) return { value: result.data };
  const faults = result.error.issues.flatMap((issue) =>
    (issue.code === 'unrecognized_keys' ? issue.keys : [undefined]).map((unknownKey) => {
      const path = unknownKey === undefined ? issue.path : [...issue.path, unknownKey];
      const message = unknownKey === undefined ? issue.message : 'is not a field of this object';
      const offset = offsetOf(document, path);
      return { offset, fault: { ...place(offset), path: pathText(path), message } };
    }),
  );
  faults.sort((one, other) => one.offset - other.offset);
  return { faults: faults.map(({ fault }) => fault) };
}

/** Maximum number of values that the aliases of a document may expand to. */
const mostOfAliases = 1_000;

function faultOf(file: string, error: unknown): ConfigurationFault {
  if (!(error instanceof YamlFault)) throw error;
  return { file, line: error.line, column: error.column, message: error.message };
}

/** The fault message for a mapping key that is itself a list or mapping. */
export const collectionKey = 'a key must be a text; this one is a list or a mapping';

/**
 * The offset of a mapping key that is a list or mapping; undefined when there is none. Such a key must be refused: it
 * would become a field name, and messages quote field names, so all values in the list or mapping would be quoted.
 */
export function collectionKeyOffset(document: Document): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Pair(_, { key }) {
      if (!isCollection(key)) return undefined;
      offset = key.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}

/** Messages that are easier to understand than zod's, for its most common faults; undefined keeps zod's own message. */
function plainMessage(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'is missing';
    return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
  }
  if (issue.code === 'invalid_key') return 'is not a label key';
  if (issue.code !== 'invalid_value') return undefined;
  return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
}

/**
 * The offset in the text of the field at `path`. For a missing field: the offset of the innermost enclosing field that
 * exists.
 */
function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const parent = depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    const key = path[depth - 1];
    if (isMap(parent)) {
      const pair = parent.items.find(({ key: node }) => isScalar(node) && String(node.value) === key);
      if (pair !== undefined && isNode(pair.key) && pair.key.range) return pair.key.range[0];
    } else if (isCollection(parent)) {
      const item = parent.items[Number(key)];
      if (isNode(item) && item.range) return item.range[0];
    }
  }
  return document.contents?.range?.[0] ?? 0;
}

function pathText(path: readonly PropertyKey[]): string {
  const joined = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return joined === '' ? 'the file' : joined.replace(/^\./, '');
}
