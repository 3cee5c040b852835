// Reads and writes YAML as kubectl does. The npm package `yaml` parses the syntax; go-scalar.ts computes the values of
// scalars, and this file handles aliases, merge keys and keys that are no strings. The same rules decide which texts
// are quoted when YAML is written. Messages never quote the text, which may hold a token.
import { Composer, isAlias, isMap, isScalar, isSeq, LineCounter, Parser, Scalar, stringify, visit } from 'yaml';
import type { Alias, Document, DocumentOptions, ParseOptions, SchemaOptions, ScalarTag, Tags, YAMLMap } from 'yaml';
import { mostLevels } from '../json/nesting.ts';
import { isMoreThanText, plainKey, plainScalar, ScalarFault, taggedScalar } from './go-scalar.ts';
import { yamlFaultText } from './yaml-message.ts';

/** A JSON value. An integer that a JavaScript number cannot hold exactly is a bigint. */
export type PlainValue = null | boolean | number | bigint | string | PlainValue[] | { [key: string]: PlainValue };

/** Thrown for YAML that is refused, with line and column of the fault. The message does not quote the text. */
export class YamlFault extends Error {
  override readonly name = 'YamlFault';
  /** Line of the fault, counted from 1. */
  readonly line: number;
  /** Column of the fault, counted from 1 in UTF-16 units. */
  readonly column: number;
  constructor(message: string, place: { readonly line: number; readonly column: number }) {
    super(message);
    this.line = place.line;
    this.column = place.column;
  }
}

/**
 * A function in the form of a RegExp: the library calls `test`, both when it reads and when it writes, to decide
 * whether a plain scalar has another type than text.
 */
class PlainTest extends RegExp {
  override test(text: string): boolean {
    return isMoreThanText(text);
  }
}

const goScalars: ScalarTag = {
  identify: (value) => value === null || ['boolean', 'number', 'bigint'].includes(typeof value),
  default: true,
  tag: 'tag:yaml.org,2002:go',
  test: new PlainTest(''),
  resolve: (text) => plainScalar(text),
  // A scalar that was not changed is written as it was in the source.
  stringify: ({ source, value }) =>
    source !== undefined && Object.is(plainScalar(source), value) ? source : String(value),
};

/**
 * Characters that are written as escape sequences, because YAML parsers read them as line ends or refuse them, or
 * because they are invisible.
 */
// oxlint-disable-next-line no-control-regex
const hidden = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** White space that would be lost in a block scalar: before the first line, and on lines without other characters. */
const blanksBefore = /^\n*[ \t]/;
const blankLine = /^[ \t]+$/m;

/**
 * The library's tag for strings, changed so that strings are written with escape sequences where needed. By itself, the
 * library writes characters that it or go-yaml cannot read again, and loses white space at the borders of block
 * scalars.
 */
function withEscapes(tag: Tags[number]): Tags[number] {
  if (typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:str' || !('stringify' in tag)) return tag;
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const stringify: ScalarTag['stringify'] = (item, ...rest) => {
    const text = String(item.value);
    if (text.search(hidden) !== -1 || blanksBefore.test(text) || blankLine.test(text))
      return JSON.stringify(text).replaceAll(hidden, escape);
    // A scalar that was not changed is written as it was in the source.
    const isAsWritten = item.type === Scalar.PLAIN && item.source === text && !text.includes('\n');
    return isAsWritten ? text : tag.stringify!(item as never, ...rest);
  };
  return { ...tag, stringify } as ScalarTag;
}

/**
 * Options for the `yaml` library, with which scalars have the same values as for kubectl. When a document is changed
 * and printed, unchanged scalars keep their source text.
 */
export const goYaml: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.1',
  schema: 'failsafe',
  customTags: (tags: Tags) => [...tags.map(withEscapes), goScalars],
  merge: false,
  resolveKnownTags: false,
  // The library's check compares each key with all others, which takes quadratic time. PlainReader checks instead.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'error',
};

/** One document of a stream. */
export interface YamlDocument {
  readonly value: PlainValue;
  /** The line on which the document begins, counted from 1. */
  readonly line: number;
}

/**
 * Yields the documents of a YAML text one by one, so that a long text needs little memory. The value of an empty
 * document is null.
 * @throws YamlFault for the first fault
 */
export function* readYamlDocuments(text: string): Generator<YamlDocument> {
  const lines = new LineCounter();
  for (const document of parseYaml(text, lines)) {
    const { line } = lines.linePos(document.range[0]);
    yield { value: plainValue(document, lines), line: Math.max(line, 1) };
  }
}

/**
 * Parses the documents of a text one by one. {@link plainValue} converts a parsed document to a value.
 * @param lines is told where lines begin
 * @throws YamlFault for characters that YAML does not allow. Syntax errors are in the field `errors` of each document
 */
export function parseYaml(text: string, lines: LineCounter): Generator<Document.Parsed> {
  return new Composer(goYaml).compose(
    new Parser(lines.addNewLine).parse(checkedText(text)),
  ) as Generator<Document.Parsed>;
}

/**
 * Writes a value as YAML. A string that a parser of YAML 1.1 or 1.2 could read as another type is quoted.
 * @param value of JSON, with bigints too
 */
export function writeYaml(value: unknown): string {
  return stringify(value, { ...goYaml, lineWidth: 0, aliasDuplicateObjects: false });
}

/** Characters that are line ends in YAML 1.1 but not in 1.2. */
const otherLineEnds = /[\u0085\u2028\u2029]/;
// oxlint-disable-next-line no-control-regex
const controls = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/;

/**
 * Returns the text with `\n` as line ends and without byte order marks, as go-yaml reads it. @throws YamlFault for
 * characters that YAML does not allow
 */
function checkedText(text: string): string {
  const normal = text.replaceAll(/\r\n?/g, '\n').replaceAll(/^\ufeff/gm, '');
  const control = controls.exec(normal);
  if (control !== null) throw new YamlFault('a control character, which YAML does not allow', placeOf(normal, control));
  const other = otherLineEnds.exec(normal);
  if (other !== null)
    throw new YamlFault('a line end of Unicode; write it in double quotes, as \\N, \\L or \\P', placeOf(normal, other));
  return normal;
}

function placeOf(text: string, { index }: { readonly index: number }): { line: number; column: number } {
  const before = text.slice(0, index).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

/**
 * The only document of a text that is not empty, so a `---` at the end is allowed. Undefined when all documents are
 * empty.
 * @param lines is told where lines begin
 * @throws YamlFault as {@link parseYaml}, and where a second document begins
 */
export function onlyDocument(text: string, lines: LineCounter): Document.Parsed | undefined {
  const [only, other] = [...parseYaml(text, lines)].filter(
    ({ contents, errors }) =>
      errors.length > 0 || (contents !== null && !(isScalar(contents) && contents.source === '')),
  );
  if (other === undefined) return only;
  const { line, col } = lines.linePos(other.range[0]);
  throw new YamlFault('the file holds several YAML documents; keep one', { line, column: col });
}

/**
 * Converts a document that was parsed with {@link goYaml} to a plain JSON value.
 * @param lines of the text, for the places of faults
 * @param mostOfAliases how many values aliases may expand to. go-yaml allows about 400,000, too many for untrusted
 *   files
 * @throws YamlFault
 */
export function plainValue(document: Document, lines: LineCounter, mostOfAliases = Infinity): PlainValue {
  const at = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const [fault] = document.errors;
  if (fault !== undefined) throw new YamlFault(faultText(fault), at(fault.pos[0]));
  const targets = aliasTargets(document, at);
  return new PlainReader(targets, at, mostOfAliases).read(document.contents, 0);
}

/** The message of a parser error, without quoted parts of the text. */
export function faultText({ code, message }: { readonly code: string; readonly message: string }): string {
  if (code === 'RESOURCE_EXHAUSTION') return 'nested too deeply';
  if (code === 'BAD_DQ_ESCAPE') return 'Invalid escape sequence in a quoted text';
  if (code === 'BAD_DIRECTIVE') return 'Invalid YAML directive';
  if (message.startsWith('Alias cannot be')) return 'a bare * is an alias in YAML; write "*" in quotes';
  return yamlFaultText(message.replace(/; please use YAML.*/, ''));
}

/**
 * The anchor names that go-yaml accepts. (In YAML 1.2, `&a: b` is the text `b` with the anchor `a:`, which go-yaml
 * refuses.)
 */
const anchorName = /^[0-9A-Za-z_-]+$/;

/** The node that each alias refers to: the last node before the alias that has this anchor. */
function aliasTargets(document: Document, at: Place): ReadonlyMap<unknown, unknown> {
  const anchors = new Map<string, unknown>();
  const targets = new Map<unknown, unknown>();
  visit(document, {
    Alias: (_, node) => void targets.set(node, anchors.get(node.source)),
    Value: (_, node) => {
      if (node.anchor === undefined) return;
      if (!anchorName.test(node.anchor))
        throw new YamlFault('the name of an anchor may have only letters, digits, - and _', at(node.range?.[0] ?? 0));
      anchors.set(node.anchor, node);
    },
  });
  return targets;
}

type Place = (offset: number) => { line: number; column: number };
type Fields = { [key: string]: PlainValue };

/**
 * Converts nodes to plain values, with go-yaml's limit on the number of values that aliases expand to (decode.go,
 * allowedAliasRatio).
 */
class PlainReader {
  readonly #targets: ReadonlyMap<unknown, unknown>;
  readonly #at: Place;
  readonly #mostOfAliases: number;
  readonly #open = new Set<unknown>();
  #values = 0;
  #valuesOfAliases = 0;

  constructor(targets: ReadonlyMap<unknown, unknown>, at: Place, mostOfAliases: number) {
    this.#targets = targets;
    this.#at = at;
    this.#mostOfAliases = mostOfAliases;
  }

  read(node: unknown, level: number): PlainValue {
    this.#count(node);
    if (level > mostLevels) throw this.#fault(node, `nested deeper than ${mostLevels} levels`);
    if (isAlias(node)) return this.#readAlias(node, (target) => this.read(target, level + 1));
    if (isScalar(node)) return this.#readScalar(node);
    if (isSeq(node)) return node.items.map((item) => this.read(item, level + 1));
    if (!isMap(node)) return null;
    const fields: Fields = {};
    this.#readFields(node, fields, level);
    return fields;
  }

  #readAlias<T>(alias: Alias, read: (target: unknown) => T): T {
    const target = this.#targets.get(alias);
    if (target === undefined)
      throw this.#fault(alias, 'an alias has no anchor; write a value that starts with * in quotes');
    if (this.#open.has(target)) throw this.#fault(alias, 'an anchor holds an alias of itself');
    this.#open.add(target);
    const value = read(target);
    this.#open.delete(target);
    return value;
  }

  #readScalar(node: Scalar): PlainValue {
    const value = this.#checked(node, () => wellFormed(meaningOf(node))) as PlainValue;
    if (typeof value === 'number' && !Number.isFinite(value))
      throw this.#fault(node, 'a number that JSON does not have; write it in quotes if it is a text');
    return value;
  }

  /**
   * Sets the fields of a mapping in the order of the file. As in go-yaml, fields from a merge key `<<` replace fields
   * that come before it.
   */
  #readFields(map: YAMLMap, fields: Fields, level: number): void {
    const own = new Set<string>();
    for (const { key, value } of map.items) {
      if (isMergeKey(key)) {
        this.#merge(value, fields, level);
        continue;
      }
      const name = this.#nameOf(key);
      if (own.has(name)) throw this.#fault(key, 'Map keys must be unique');
      own.add(name);
      setField(fields, name, this.read(value, level + 1));
    }
  }

  #merge(value: unknown, fields: Fields, level: number): void {
    this.#count(value);
    if (level > mostLevels) throw this.#fault(value, `nested deeper than ${mostLevels} levels`);
    if (isMap(value)) this.#readFields(value, fields, level + 1);
    else if (isAlias(value))
      this.#readAlias(value, (target) => {
        if (!isMap(target)) throw this.#fault(value, wantsMap);
        this.#readFields(target, fields, level + 1);
      });
    else if (isSeq(value)) {
      // If several mappings in the list have a field, the first mapping wins; so the list is merged from its end.
      for (const item of value.items.toReversed()) {
        if (!isMap(item) && !isAlias(item)) throw this.#fault(value, wantsMap);
        this.#merge(item, fields, level + 1);
      }
    } else throw this.#fault(value, wantsMap);
  }

  #nameOf(key: unknown): string {
    this.#count(key);
    const node = isAlias(key) ? this.#targets.get(key) : key;
    if (node === null) return this.#checked(key, () => plainKey(''));
    if (!isScalar(node))
      throw this.#fault(key, 'a key must be a text; this one is a list or a mapping, as {{ }} of a template is');
    return this.#checked(key, () => {
      const value = meaningOf(node);
      if (typeof value === 'string') return wellFormed(value);
      return plainKey(node.source ?? String(value));
    });
  }

  #checked<T>(node: unknown, read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw error instanceof ScalarFault ? this.#fault(node, error.message) : error;
    }
  }

  #count(node: unknown): void {
    this.#values += 1;
    if (this.#open.size > 0) this.#valuesOfAliases += 1;
    const isMuch = this.#valuesOfAliases > 100 && this.#values > 1000;
    const isTooMuch = isMuch && this.#valuesOfAliases / this.#values > allowedRatio(this.#values);
    if (isTooMuch || this.#valuesOfAliases > this.#mostOfAliases)
      throw this.#fault(node, 'aliases expand to too much; write the values out');
  }

  #fault(node: unknown, message: string): YamlFault {
    const range = (node as { readonly range?: readonly number[] | null } | null)?.range;
    return new YamlFault(message, this.#at(range?.[0] ?? 0));
  }
}

const wantsMap = 'what << merges must be a mapping, an alias of one, or a list of these';

function meaningOf(node: Scalar): unknown {
  if (node.tag === undefined) return node.value;
  return taggedScalar(node.tag, node.source ?? '');
}

function wellFormed<T>(value: T): T {
  if (typeof value === 'string' && !value.isWellFormed())
    throw new ScalarFault('half a surrogate pair, which no UTF-8 text can hold');
  return value;
}

function isMergeKey(key: unknown): boolean {
  if (!isScalar(key) || key.source !== '<<') return false;
  return key.tag === undefined ? key.type === Scalar.PLAIN : key.tag === 'tag:yaml.org,2002:merge';
}

/** Sets a field. Assigning to `__proto__` would change the prototype, so the field is defined as a property. */
function setField(fields: Fields, name: string, value: PlainValue): void {
  Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true });
}

const fewValues = 400_000;
const manyValues = 4_000_000;

function allowedRatio(values: number): number {
  if (values <= fewValues) return 0.99;
  if (values >= manyValues) return 0.1;
  return 0.99 - 0.89 * ((values - fewValues) / (manyValues - fewValues));
}
