// Turns the tokens of a template into a tree (text/template/parse, parse.go). Names of functions are checked here, so a
// template with an unknown or refused function never runs.
import { readNumber } from './values/go-literals.ts';
import { lineAt, tokensOf, type Token, type TokenKind } from './lexer.ts';
import { templateLimits } from './values/limits.ts';
import type { Command, Node, Operand, Pipeline, Tree } from './syntax.ts';
import { TemplateError } from './values/template-error.ts';
import { bytesOf } from './values/values.ts';

const blockWords = new Set(['if', 'with', 'range', 'else', 'end', 'define', 'template', 'block', 'break', 'continue']);

/**
 * Parses a template.
 * @param checkFunction gives the reason why a function may not be called; undefined when it may
 * @throws TemplateError with the line of the mistake
 */
export function parseTemplate(source: string, checkFunction: (name: string) => string | undefined): Tree {
  if (source.length > templateLimits.source)
    throw new TemplateError(`it is longer than ${templateLimits.source} characters`);
  return new Parser(source, checkFunction).run();
}

class Parser {
  readonly #source: string;
  readonly #checkFunction: (name: string) => string | undefined;
  readonly #tokens: readonly Token[];
  readonly #defined = new Map<string, readonly Node[]>();
  /** The variables that are in scope, innermost last. */
  #variables: string[] = ['$'];
  #index = 0;
  #depth = 0;
  #ranges = 0;

  constructor(source: string, checkFunction: (name: string) => string | undefined) {
    this.#source = source;
    this.#checkFunction = checkFunction;
    this.#tokens = tokensOf(source);
  }

  run(): Tree {
    const { nodes, ending } = this.#nodes(true);
    if (ending !== 'eof') throw this.#fault(`unexpected {{${ending}}}`);
    return { body: nodes, defined: this.#defined };
  }

  /**
   * Reads nodes up to `{{else`, `{{end}}` or the end of the text. `{{end}}` is consumed whole. Of `{{else` the rest up
   * to `}}` is not consumed, since it may be `{{else if …}}`.
   */
  #nodes(isTop = false): { readonly nodes: readonly Node[]; readonly ending: 'else' | 'end' | 'eof' } {
    const nodes: Node[] = [];
    for (;;) {
      const token = this.#next();
      if (token.kind === 'end') return { nodes, ending: 'eof' };
      if (token.kind === 'text') {
        nodes.push({ kind: 'text', text: bytesOf(token.text) });
        continue;
      }
      this.#skipBlanks();
      const word = this.#peek().kind === 'word' ? this.#peek().text : '';
      if (!blockWords.has(word)) {
        nodes.push({ kind: 'action', pipeline: this.#pipelineTo('close') });
        continue;
      }
      this.#next();
      if (word === 'end') this.#close();
      if (word === 'end' || word === 'else') return { nodes, ending: word };
      const node = this.#block(word, isTop);
      if (node !== undefined) nodes.push(node);
    }
  }

  #block(word: string, isTop: boolean): Node | undefined {
    switch (word) {
      case 'break':
      case 'continue':
        if (this.#ranges === 0) throw this.#fault(`{{${word}}} outside {{range}}`);
        this.#close();
        return { kind: word };
      case 'template': {
        const { at } = this.#peek();
        const name = this.#templateName();
        this.#skipBlanks();
        const hasArgument = this.#peek().kind !== 'close';
        return { kind: 'template', name, pipeline: hasArgument ? this.#pipelineTo('close') : this.#closeNow(), at };
      }
      case 'define':
        if (!isTop) throw this.#fault('unexpected {{define}}');
        this.#define(this.#templateName());
        return undefined;
      case 'block': {
        const { at } = this.#peek();
        const name = this.#templateName();
        const pipeline = this.#pipelineTo('close');
        this.#define(name, true);
        return { kind: 'template', name, pipeline, at };
      }
      default:
        return this.#control(word as 'if' | 'with' | 'range');
    }
  }

  #templateName(): string {
    this.#skipBlanks();
    const token = this.#next();
    if (token.kind !== 'string') throw this.#fault('the name of a template must be a quoted text', token);
    return token.text;
  }

  #define(name: string, isClosed = false): void {
    if (!isClosed) this.#close();
    const outer = { variables: this.#variables, ranges: this.#ranges };
    this.#variables = ['$'];
    this.#ranges = 0;
    const { nodes, ending } = this.#deeper(() => this.#nodes());
    if (ending !== 'end') throw this.#fault(`unexpected ${ending} in define`);
    ({ variables: this.#variables, ranges: this.#ranges } = outer);
    this.#defined.set(name, nodes);
  }

  #control(kind: 'if' | 'with' | 'range'): Node {
    return this.#deeper(() => {
      const scope = this.#variables.length;
      const pipeline = this.#pipelineTo('close', kind === 'range');
      if (kind === 'range') this.#ranges += 1;
      const { nodes: body, ending } = this.#nodes();
      if (kind === 'range') this.#ranges -= 1;
      const otherwise = ending === 'else' ? this.#otherwise(kind) : [];
      if (ending === 'eof') throw this.#fault('unexpected end of the text');
      this.#variables.length = scope;
      return { kind, pipeline, body, otherwise };
    });
  }

  /**
   * Reads the rest of an `{{else`: either `}}` and nodes up to `{{end}}`, or an `if` or `with`, whose `{{end}}` ends
   * both.
   */
  #otherwise(kind: 'if' | 'with' | 'range'): readonly Node[] {
    this.#skipBlanks();
    const token = this.#peek();
    if (token.kind === 'word' && (token.text === 'if' || token.text === 'with')) {
      if (token.text !== kind) throw this.#fault(`unexpected {{else ${token.text}}}`);
      this.#next();
      return [this.#control(token.text)];
    }
    this.#close();
    const { nodes, ending } = this.#nodes();
    if (ending !== 'end') throw this.#fault(ending === 'else' ? 'expected end; found {{else}}' : 'unexpected end');
    return nodes;
  }

  /** Reads a pipeline and the `}}` or `)` after it. */
  #pipelineTo(end: 'close' | ')', isRange = false): Pipeline {
    this.#skipBlanks();
    const { at } = this.#peek();
    const { names, assigns } = this.#declaration(isRange);
    const commands: Command[] = [];
    for (;;) {
      this.#skipBlanks();
      const token = this.#peek();
      if (token.kind === end) {
        this.#next();
        break;
      }
      if (commands.length > 0) {
        if (token.kind !== '|') throw this.#fault(`unexpected ${said(token)}`, token);
        this.#next();
      }
      commands.push(this.#command());
    }
    if (commands.length === 0) throw this.#fault('missing value');
    this.#checkStages(commands);
    if (!assigns) this.#variables.push(...names);
    return { variables: names, assigns, commands, at };
  }

  /**
   * Checks that no stage after the first is a constant, a dot or nil, since only functions can take the previous
   * stage's value.
   */
  #checkStages(commands: readonly Command[]): void {
    for (const { operands, at } of commands.slice(1)) {
      const { kind } = operands[0]!;
      if (kind === 'constant' || kind === 'dot' || kind === 'nil')
        throw new TemplateError(`${lineAt(this.#source, at)}: a stage of a pipeline that is no function`);
    }
  }

  #declaration(isRange: boolean): { readonly names: readonly string[]; readonly assigns: boolean } {
    const start = this.#index;
    const names: string[] = [];
    for (;;) {
      const token = this.#next();
      if (token.kind !== 'variable') break;
      names.push(token.text);
      this.#skipBlanks();
      const after = this.#next();
      if (after.kind === ':=') return { names, assigns: false };
      if (after.kind === '=') {
        for (const each of names) this.#checkVariable(each, after);
        return { names, assigns: true };
      }
      if (after.kind !== ',' || !isRange || names.length === 2) break;
      this.#skipBlanks();
    }
    this.#index = start;
    return { names: [], assigns: false };
  }

  #command(): Command {
    this.#skipBlanks();
    const { at } = this.#peek();
    const operands: Operand[] = [];
    for (;;) {
      const token = this.#peek();
      if (token.kind === 'space') {
        this.#next();
        continue;
      }
      if (token.kind === 'close' || token.kind === ')' || token.kind === '|') break;
      operands.push(this.#operand());
      const next = this.#peek().kind;
      if (next !== 'space' && next !== 'close' && next !== ')' && next !== '|')
        throw this.#fault(`unexpected ${said(this.#peek())} in operand`);
    }
    if (operands.length === 0) throw this.#fault('empty command');
    return { operands, at };
  }

  #operand(): Operand {
    const token = this.#next();
    const operand = this.#term(token);
    const names = this.#fieldNames();
    if (names.length === 0) return operand;
    switch (operand.kind) {
      case 'field':
        return { kind: 'field', names: [...operand.names, ...names] };
      case 'variable':
        return { ...operand, fields: [...operand.fields, ...names] };
      case 'constant':
      case 'nil':
      case 'dot':
        throw this.#fault(`unexpected . after ${said(token)}`);
      default:
        return { kind: 'chain', of: operand, names };
    }
  }

  #fieldNames(): readonly string[] {
    const names: string[] = [];
    while (this.#peek().kind === 'field') names.push(bytesOf(this.#next().text.slice(1)));
    return names;
  }

  #term(token: Token): Operand {
    switch (token.kind) {
      case 'dot':
        return { kind: 'dot' };
      case 'field':
        return { kind: 'field', names: [bytesOf(token.text.slice(1))] };
      case 'variable':
        this.#checkVariable(token.text, token);
        return { kind: 'variable', name: token.text, fields: [] };
      case 'string':
        return { kind: 'constant', value: token.text };
      case 'char':
        return { kind: 'constant', value: this.#character(token) };
      case 'number': {
        const value = readNumber(token.text);
        if (value === undefined) throw this.#fault('illegal number', token);
        return { kind: 'constant', value };
      }
      case 'word':
        return this.#word(token);
      case '(':
        return { kind: 'pipeline', pipeline: this.#deeper(() => this.#pipelineTo(')')) };
      default:
        throw this.#fault(`unexpected ${said(token)}`, token);
    }
  }

  #character(token: Token): bigint {
    const points = [...Buffer.from(token.text, 'latin1').toString('utf8')];
    if (points.length !== 1) throw this.#fault('a character constant of more than one character', token);
    return BigInt(points[0]!.codePointAt(0)!);
  }

  #word(token: Token): Operand {
    if (token.text === 'true' || token.text === 'false') return { kind: 'constant', value: token.text === 'true' };
    if (token.text === 'nil') return { kind: 'nil' };
    const why = this.#checkFunction(token.text);
    if (why !== undefined) throw this.#fault(why, token);
    return { kind: 'function', name: token.text };
  }

  #checkVariable(name: string, token: Token): void {
    if (!this.#variables.includes(name)) throw this.#fault(`undefined variable "${name}"`, token);
  }

  #deeper<T>(read: () => T): T {
    this.#depth += 1;
    if (this.#depth > templateLimits.depth) throw this.#fault(`nested deeper than ${templateLimits.depth}`);
    const found = read();
    this.#depth -= 1;
    return found;
  }

  #close(): void {
    this.#skipBlanks();
    const token = this.#next();
    if (token.kind !== 'close') throw this.#fault(`unexpected ${said(token)}`, token);
  }

  #closeNow(): undefined {
    this.#close();
  }

  #skipBlanks(): void {
    while (this.#peek().kind === 'space') this.#index += 1;
  }

  #peek(): Token {
    return this.#tokens[this.#index] ?? this.#tokens.at(-1)!;
  }

  #next(): Token {
    const token = this.#peek();
    this.#index += 1;
    return token;
  }

  #fault(what: string, token: Token = this.#peek()): TemplateError {
    return new TemplateError(`${lineAt(this.#source, token.at)}: ${what}`);
  }
}

const names: Partial<Record<TokenKind, string>> = { close: '}}', end: 'the end of the text', space: 'a blank' };

function said({ kind, text }: Token): string {
  return names[kind] ?? JSON.stringify(text);
}
