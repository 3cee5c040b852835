// Splits the text of `whereSQL` into tokens. Texts are as in standard SQL: a quote inside is doubled, a backslash means
// nothing. So no text can be read in two ways.
import { bad } from '../parameters.ts';
import { shortened } from '../../lib/text/shortened.ts';

/** One token. `at` is the number of the character at which it begins, from 1. */
export interface Token {
  readonly kind: 'word' | 'quoted' | 'text' | 'number' | 'symbol' | 'end';
  /** Words in upper case, texts and quoted names without their quotes. */
  readonly value: string;
  readonly at: number;
}

const longestStatement = 32 * 1024;
const mostTokens = 20_000;
const forms = [
  ['blank', /[ \t\r\n]+/y],
  ['comment', /--|\/\*|#(?!>)/y],
  ['text', /'(?:[^']|'')*'/y],
  ['quoted', /"[^"]+"|`[^`]+`/y],
  ['number', /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])/y],
  ['word', /[A-Za-z_]\w*/y],
  ['symbol', /->>|->|#>>|#>|<>|!=|<=|>=|[=<>(),?+-]/y],
] as const;

/**
 * The tokens of an expression; the last is of kind `end`.
 * @param name of the parameter, for messages
 * @throws GatewayError BAD_REQUEST for a comment, a semicolon, and for any character that belongs to no token
 */
function tokensOf(name: string, text: string): readonly Token[] {
  if (text.length > longestStatement) throw bad(`${name} is longer than ${longestStatement} characters`);
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const { kind, value } = tokenAt(name, text, at);
    if (kind === 'comment') throw fault(name, at + 1, 'comments are not supported');
    if (kind !== 'blank') tokens.push({ kind, value: valueOf(kind, value), at: at + 1 });
    if (tokens.length > mostTokens) throw bad(`${name} has more than ${mostTokens} words and signs`);
    at += value.length;
  }
  return [...tokens, { kind: 'end', value: '', at: text.length + 1 }];
}

type Form = (typeof forms)[number][0];

function tokenAt(name: string, text: string, at: number): { readonly kind: Form; readonly value: string } {
  for (const [kind, form] of forms) {
    form.lastIndex = at;
    const value = form.exec(text)?.[0];
    if (value !== undefined) return { kind, value };
  }
  const char = text[at]!;
  if (char === "'" || char === '"' || char === '`') throw fault(name, at + 1, 'the quote is not closed');
  if (char === ';') throw fault(name, at + 1, 'only one expression is supported');
  throw fault(name, at + 1, `${JSON.stringify(char)} is not supported`);
}

function valueOf(kind: Exclude<Form, 'blank' | 'comment'>, value: string): string {
  if (kind === 'text') return value.slice(1, -1).replaceAll("''", "'");
  if (kind === 'quoted') return value.slice(1, -1);
  return kind === 'word' ? value.toUpperCase() : value;
}

/** The error for an expression that cannot be read at a place. @param at the number of the character, from 1 */
export function fault(name: string, at: number, why: string): Error {
  return bad(`${name} cannot be read at character ${at}: ${why}`);
}

/** Reads tokens one after the other. */
export class TokenReader {
  /** The name of the parameter that holds the expression, for messages. */
  readonly name: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  /** @throws GatewayError BAD_REQUEST as {@link tokensOf} does */
  constructor(name: string, text: string) {
    this.name = name;
    this.#tokens = tokensOf(name, text);
  }

  get next(): Token {
    return this.#tokens[this.#at]!;
  }

  /** Returns the next token and moves on to the one after it. */
  take(): Token {
    return this.#tokens[this.#at++]!;
  }

  isNext(kind: Token['kind'], value: string): boolean {
    return this.next.kind === kind && this.next.value === value;
  }

  /** Takes the next token if it is this one. */
  takes(symbol: string, kind: Token['kind'] = 'symbol'): boolean {
    const isNext = this.isNext(kind, symbol);
    if (isNext) this.#at++;
    return isNext;
  }

  takesWord(word: string): boolean {
    return this.takes(word, 'word');
  }

  /** @throws GatewayError BAD_REQUEST unless the next token is this symbol */
  expect(symbol: string): void {
    if (!this.takes(symbol)) throw this.fault(`expected ${symbol}, not ${this.shown()}`);
  }

  /** The next token, which must be a text. @throws GatewayError BAD_REQUEST */
  text(what: string): Token {
    if (this.next.kind !== 'text') throw this.fault(`expected ${what}`);
    return this.take();
  }

  /** The next token, for a message. */
  shown(): string {
    const { kind, value } = this.next;
    return kind === 'end' ? 'the end' : shownText(value);
  }

  /** Makes the error that the expression cannot be read at the next token, or at another position. */
  fault(why: string, at = this.next.at): Error {
    return fault(this.name, at, why);
  }
}

/** A text of the expression, for a message. */
export function shownText(text: string): string {
  return JSON.stringify(shortened(text, 60));
}
