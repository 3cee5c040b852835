// Reads YAML as kubectl does, on top of a parser that leaves the meaning of scalars to us: go-scalar.ts says what they
// mean, and this file what aliases, merge keys and keys of other types do. The same rules decide when text is written
// which of it must stand in quotes. Messages never quote the text, which may hold a token.
import { Composer, isAlias, isMap, isScalar, isSeq, LineCounter, Parser, Scalar, stringify, visit } from 'yaml';
import type { Alias, Document, DocumentOptions, ParseOptions, SchemaOptions, ScalarTag, Tags, YAMLMap } from 'yaml';
import { mostLevels } from '../json/nesting.ts';
import { isMoreThanText, plainKey, plainScalar, ScalarFault, taggedScalar } from './go-scalar.ts';
import { yamlFaultText } from './yaml-message.ts';

/** A value of JSON. An integer that no JavaScript number holds exactly is a bigint. */
export type PlainValue = null | boolean | number | bigint | string | PlainValue[] | { [key: string]: PlainValue };

/** Thrown for a text that is refused, with the place of the fault. Nothing of the text is in the message. */
export class YamlFault extends Error {
  override readonly name = 'YamlFault';
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  constructor(message: string, place: { readonly line: number; readonly column: number }) {
    super(message);
    this.line = place.line;
    this.column = place.column;
  }
}

/** A pattern that is a function: the library asks `test` what a plain scalar is, when it reads and when it writes. */
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
  // What nobody changed is written as it stood.
  stringify: ({ source, value }) =>
    source !== undefined && Object.is(plainScalar(source), value) ? source : String(value),
};

/** Readers take these for ends of lines, or refuse them, or they are not seen. */
// oxlint-disable-next-line no-control-regex
const hidden = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** Blanks that get lost in a block: before the first line, and on lines that hold nothing else. */
const blanksBefore = /^\n*[ \t]/;
const blankLine = /^[ \t]+$/m;

/**
 * The tag of texts, which are written with escape sequences where they need some: the library writes characters that
 * it, or go-yaml, would not read again, and loses blanks at the borders of a block.
 */
function withEscapes(tag: Tags[number]): Tags[number] {
  if (typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:str' || !('stringify' in tag)) return tag;
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const stringify: ScalarTag['stringify'] = (item, ...rest) => {
    const text = String(item.value);
    if (text.search(hidden) !== -1 || blanksBefore.test(text) || blankLine.test(text))
      return JSON.stringify(text).replaceAll(hidden, escape);
    // What nobody changed is written as it stood.
    const isAsWritten = item.type === Scalar.PLAIN && item.source === text && !text.includes('\n');
    return isAsWritten ? text : tag.stringify!(item as never, ...rest);
  };
  return { ...tag, stringify } as ScalarTag;
}

/**
 * Options for the `yaml` library with which scalars mean what they mean to kubectl. Whoever changes a document and
 * prints it keeps every scalar as it was written.
 */
export const goYaml: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.1',
  schema: 'failsafe',
  customTags: (tags: Tags) => [...tags.map(withEscapes), goScalars],
  merge: false,
  resolveKnownTags: false,
  // The library compares each key with all others.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'error',
};

/** One document of a stream. */
export interface YamlDocument {
  readonly value: PlainValue;
  /** Where it begins, from 1. */
  readonly line: number;
}

/**
 * Reads all documents of a text, one after the other, so that a long one needs little memory. Of those that hold
 * nothing, the value is null.
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
 * Parses all documents of a text, one after the other, for {@link plainValue}.
 * @param lines is told where lines begin
 * @throws YamlFault for characters that YAML does not allow. Other faults are in `errors` of a document
 */
export function parseYaml(text: string, lines: LineCounter): Generator<Document.Parsed> {
  return new Composer(goYaml).compose(
    new Parser(lines.addNewLine).parse(checkedText(text)),
  ) as Generator<Document.Parsed>;
}

/**
 * Writes a value as YAML. What any reader might take for something else than text stands in quotes: those of YAML 1.1
 * and 1.2 differ.
 * @param value of JSON, with bigints too
 */
export function writeYaml(value: unknown): string {
  return stringify(value, { ...goYaml, lineWidth: 0, aliasDuplicateObjects: false });
}

/** Line ends of YAML 1.1 that are none in 1.2. */
const otherLineEnds = /[\u0085\u2028\u2029]/;
// oxlint-disable-next-line no-control-regex
const controls = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/;

/** The text with line ends as `\n` and without byte order marks, as go-yaml has it. */
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
 * The one document of a text that holds something: what a separator at the end begins is none. Undefined when there is
 * none.
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
 * What a document that was parsed with {@link goYaml} means.
 * @param lines of the text, for the places of faults
 * @param mostOfAliases how many values aliases may expand to. go-yaml takes some 400,000, which are too many for what
 * others may write
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

/** What a fault of the parser says, without a quote of the text. */
export function faultText({ code, message }: { readonly code: string; readonly message: string }): string {
  if (code === 'RESOURCE_EXHAUSTION') return 'nested too deeply';
  if (code === 'BAD_DQ_ESCAPE') return 'Invalid escape sequence in a quoted text';
  if (code === 'BAD_DIRECTIVE') return 'Invalid YAML directive';
  if (message.startsWith('Alias cannot be')) return 'a bare * is an alias in YAML; write "*" in quotes';
  return yamlFaultText(message.replace(/; please use YAML.*/, ''));
}

/** In YAML 1.2 `&a: b` is the text `b` with the anchor `a:`. go-yaml takes no such name. */
const anchorName = /^[0-9A-Za-z_-]+$/;

/** The node that each alias stands for: the last one before it with that anchor. */
function aliasTargets(document: Document, at: Place): ReadonlyMap<unknown, unknown> {
  const anchors = new Map<string, unknown>();
  const targets = new Map<unknown, unknown>();
  visit(document, {
    Alias: (_, node) => void targets.set(node, anchors.get(node.source)),
    Value: (_, node) => {
      if (node.anchor === undefined) return;
      if (!anchorName.test(node.anchor))
        throw new YamlFault('an anchor is named by letters, digits, - and _', at(node.range?.[0] ?? 0));
      anchors.set(node.anchor, node);
    },
  });
  return targets;
}

type Place = (offset: number) => { line: number; column: number };
type Fields = { [key: string]: PlainValue };

/** Makes plain values of nodes, with go-yaml's bound on what aliases expand to (decode.go, allowedAliasRatio). */
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

  /** Sets the fields of a mapping in their order: what is merged replaces what stood before it, as in go-yaml. */
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
      // The first of a list wins.
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

/** Also for `__proto__`, which an assignment would take for something else. */
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
