// Keeps what a template's actions print apart from the YAML of its own text. Security: a printed value may be written
// by somebody who may write the source object only. Read as YAML, it could bring fields that the author of the policy
// never wrote, such as `authenticationFrom` with the Secret of another cluster. So the YAML is parsed with a mark in
// the place of each printed value, and the values are put into the parsed scalars afterwards.
import { randomBytes } from 'node:crypto';
import { isAlias, isPair, isScalar, isSeq, parseDocument, visit, type Document, type Node, type Scalar } from 'yaml';
import type { FieldFault } from '../../lib/yaml/checked-yaml.ts';
import { goYaml } from '../../lib/yaml/go-yaml.ts';
import { isMoreThanText } from '../../lib/yaml/go-scalar.ts';
import type { Part } from '../template/template.ts';

export interface MarkedYaml {
  /** The template's own text, with a mark for each printed value. */
  readonly text: string;
  /**
   * Replaces the marks in the parsed `text` by the printed values. Returns the first place where a printed value may
   * not stand; undefined when there is none.
   */
  putValues(document: Document): FieldFault | undefined;
}

/** Marks the printed values in the output of a template. */
export function markValues(parts: readonly Part[]): MarkedYaml {
  // No escape sequence of YAML begins with `q`, and nothing but a scalar, an anchor or a tag can have it.
  const id = `q${randomBytes(8).toString('hex')}`;
  const marks = new RegExp(`${id}x(\\d+)q`, 'g');
  const filled = (text: string): string => text.replaceAll(marks, (_, index: string) => parts[Number(index)]!.text);
  return {
    text: parts.map(({ text, isValue }, index) => (isValue ? `${id}x${index}q` : text)).join(''),
    putValues(document) {
      let fault: FieldFault | undefined;
      visit(document, {
        Node(key, node, path) {
          const message = faultOf(node, key === 'key', fieldsTo(path, node), (text) => text.includes(id));
          if (message === undefined && (!isScalar(node) || !node.source?.includes(id))) return undefined;
          if (message === undefined && putInto(node as Scalar, filled)) return undefined;
          fault = { offset: node.range?.[0] ?? 0, path: fieldsTo(path, node), message: message ?? noScalar };
          return visit.BREAK;
        },
      });
      return fault;
    },
  };
}

const noScalar =
  'is printed by an action that does not print one text or number; print each value by itself, with toJson';

/** Returns why this node of the marked YAML is refused; undefined when it has no mark, or a value may stand in it. */
function faultOf(
  node: Node,
  isKey: boolean,
  fields: readonly PropertyKey[],
  isMarked: (text: string) => boolean,
): string | undefined {
  const text = isAlias(node) ? node.source : isScalar(node) ? (node.source ?? '') : '';
  if (isKey && (isAlias(node) || isMarked(text)))
    return "has a key that an action prints; keys must stand in the template's own text";
  const { tag = '', anchor = '' } = node as { readonly tag?: string; readonly anchor?: string };
  const isNamed = isAlias(node) || isMarked(tag) || isMarked(anchor);
  if ((isNamed && isMarked(`${text} ${tag} ${anchor}`)) || (tag !== '' && isMarked(text)))
    return 'has a tag, an anchor or an alias that an action prints, or a tag before what it prints';
  if (fields.includes('authenticationFrom') && (isAlias(node) || isMarked(text)))
    return "must stand in the template's own text, so that no source object can choose a Secret";
  return undefined;
}

/**
 * Puts printed values into a scalar. Returns false if the text of an unquoted scalar would then not be parsed as a
 * single scalar.
 */
function putInto(scalar: Scalar, filled: (text: string) => string): boolean {
  const text = filled(scalar.source ?? '');
  if (scalar.type !== 'PLAIN') {
    scalar.value = text;
    return true;
  }
  const trimmed = text.trim();
  if (!isOneText(trimmed)) return false;
  if (/^[A-Za-z]/.test(trimmed) && !isMoreThanText(trimmed)) {
    scalar.value = trimmed;
    return true;
  }
  const { contents, errors, warnings, directives } = parseDocument(trimmed, goYaml);
  if (errors.length + warnings.length > 0 || directives?.docStart === true) return false;
  if (contents !== null && !isScalar(contents)) return false;
  scalar.value = contents === null ? null : contents.value;
  return true;
}

/**
 * Whether a text without white space around it may be one scalar of YAML: in quotes as a whole, or without comments,
 * keys, tags and whatever else has a meaning in YAML. Tested before the YAML parser is called, because the parser takes
 * seconds for a value of many anchors or colons.
 */
function isOneText(text: string): boolean {
  if (text.startsWith('"')) return /^"(?:[^"\\]|\\.)*"$/s.test(text);
  if (text.startsWith("'")) return /^'(?:[^']|'')*'$/s.test(text);
  return !/^(?:[[\]{},#&*!|>%@`]|[-?:](?:\s|$))|:(?:\s|$)|\s#|[\r\n]/.test(text);
}

/**
 * The path of a node: the fields and list indices that lead to it from the root. The path of a key is that of the
 * mapping that has the key.
 */
function fieldsTo(path: readonly unknown[], node: Node): readonly PropertyKey[] {
  return path.flatMap((above, depth): readonly PropertyKey[] => {
    const below = path[depth + 1] ?? node;
    if (isSeq(above)) return [above.items.indexOf(below)];
    return isPair(above) && isScalar(above.key) && above.key !== node ? [String(above.key.value)] : [];
  });
}
