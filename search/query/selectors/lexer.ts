// Tokens of label and field selectors (apimachinery/pkg/labels.Lexer), and the grammar both share. `in` and `notin` are
// operators only where one may be: `x in (in)` has a value. In field selectors a quote in a key hides operators from
// the lexer.

export type TokenKind = 'end' | 'word' | 'in' | 'notin' | '=' | '==' | '!=' | '!' | '>' | '<' | '(' | ')' | ',';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Where the next token may begin. */
  readonly end: number;
}

/** What quotes and backslashes mean: nothing, part of a key's path, or an escape in a value. */
export type LexerMode = 'plain' | 'path' | 'value';

const special = '=!(),><';
const blank = ' \t\r\n';

/** The token at `start` or after the blanks there. Longest match. */
export function lex(text: string, start: number, mode: LexerMode = 'plain'): Token {
  let at = start;
  while (at < text.length && blank.includes(text[at]!)) at++;
  const char = text[at];
  if (char === undefined) return { kind: 'end', text: '', end: at };
  if (special.includes(char)) {
    const isDouble = (char === '=' || char === '!') && text[at + 1] === '=';
    const symbol = isDouble ? `${char}=` : char;
    return { kind: symbol as TokenKind, text: symbol, end: at + symbol.length };
  }
  const end = wordEnd(text, at, mode);
  const word = text.slice(at, end);
  return { kind: word === 'in' || word === 'notin' ? word : 'word', text: word, end };
}

function wordEnd(text: string, start: number, mode: LexerMode): number {
  let at = start;
  while (at < text.length) {
    const char = text[at]!;
    if (special.includes(char) || blank.includes(char)) break;
    if (mode === 'value' && char === '\\') at++;
    else if (mode === 'path' && (char === "'" || char === '"') && opensKey(text, start, at)) at = quoteEnd(text, at);
    at++;
  }
  return Math.min(at, text.length);
}

/** Whether a quote stands where a key of a path may begin. */
function opensKey(text: string, start: number, at: number): boolean {
  return at === start || text[at - 1] === '[' || text[at - 1] === '.';
}

/** Where the quote closes; the opening one itself when it never does. */
function quoteEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === text[start]) return at;
  }
  return start;
}

/** One requirement as it was written. */
export interface WrittenRequirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | '=' | '==' | '!=' | '>' | '<' | 'exists' | '!';
  /** As written, in order, doubles kept. Of `=` and its like exactly one, of `exists` and `!` none. */
  readonly values: readonly string[];
}

/** A selector that cannot be read; kube-apiserver's words. */
export class SelectorError extends Error {}

const binaryOperators = 'in, notin, =, ==, !=, gt, lt';

/** How a selector's keys and values are lexed, and what a key must be. */
export interface SelectorGrammar {
  readonly keyMode: LexerMode;
  readonly valueMode: LexerMode;
  /** Throws for an invalid key. */
  readonly checkKey: (key: string) => void;
  /** Throws for invalid values; called before the rest is read, so that the first fault is reported. */
  readonly checkRequirement?: (requirement: WrittenRequirement) => void;
  readonly maxRequirements: number;
}

/**
 * Reads a selector (apimachinery/pkg/labels.Parser).
 * @throws SelectorError, and what `checkKey` throws
 */
export function parseRequirements(text: string, grammar: SelectorGrammar): readonly WrittenRequirement[] {
  const parser = new Parser(text, grammar);
  const requirements: WrittenRequirement[] = [];
  for (;;) {
    const next = parser.peek('key');
    if (next.kind === 'end') return requirements;
    if (next.kind !== 'word' && next.kind !== '!')
      throw new SelectorError(`found '${next.text}', expected: !, identifier, or 'end of string'`);
    const requirement = parser.requirement();
    grammar.checkRequirement?.(requirement);
    requirements.push(requirement);
    if (requirements.length > grammar.maxRequirements)
      throw new SelectorError(`the selector has more than ${grammar.maxRequirements} requirements`);
    const after = parser.take('key');
    if (after.kind === 'end') return requirements;
    if (after.kind !== ',') throw new SelectorError(`found '${after.text}', expected: ',' or 'end of string'`);
    const following = parser.peek('key');
    if (following.kind !== 'word' && following.kind !== '!')
      throw new SelectorError(`found '${following.text}', expected: identifier after ','`);
  }
}

class Parser {
  readonly #text: string;
  readonly #grammar: SelectorGrammar;
  #at = 0;

  constructor(text: string, grammar: SelectorGrammar) {
    this.#text = text;
    this.#grammar = grammar;
  }

  /** The next token; `in` and `notin` are words unless an operator may stand here. */
  peek(place: 'key' | 'operator' | 'value'): Token {
    const mode = place === 'key' ? this.#grammar.keyMode : place === 'value' ? this.#grammar.valueMode : 'plain';
    const token = lex(this.#text, this.#at, mode);
    return place !== 'operator' && (token.kind === 'in' || token.kind === 'notin') ? { ...token, kind: 'word' } : token;
  }

  take(place: 'key' | 'operator' | 'value'): Token {
    const token = this.peek(place);
    this.#at = token.end;
    return token;
  }

  requirement(): WrittenRequirement {
    let word = this.take('key');
    const isNegated = word.kind === '!';
    if (isNegated) word = this.take('key');
    if (word.kind !== 'word') throw unreadable(`found '${word.text}', expected: identifier`);
    this.#grammar.checkKey(word.text);
    const key = word.text;
    const next = this.peek('operator').kind;
    if (isNegated) return { key, operator: '!', values: [] };
    if (next === 'end' || next === ',') return { key, operator: 'exists', values: [] };
    const operator = this.take('operator');
    switch (operator.kind) {
      case 'in':
      case 'notin':
        return { key, operator: operator.kind, values: this.#set() };
      case '=':
      case '==':
      case '!=':
      case '>':
      case '<':
        return { key, operator: operator.kind, values: [this.#exact()] };
      default:
        throw unreadable(`found '${operator.text}', expected: ${binaryOperators}`);
    }
  }

  #exact(): string {
    const next = this.peek('value');
    if (next.kind === 'end' || next.kind === ',') return '';
    if (next.kind !== 'word') throw unreadable(`found '${next.text}', expected: identifier`);
    return this.take('value').text;
  }

  /** `(a, b)`; `()` holds the empty text, as does each gap before, between or after commas. */
  #set(): readonly string[] {
    const open = this.take('value');
    if (open.kind !== '(') throw unreadable(`found '${open.text}' expected: '('`);
    const values: string[] = [];
    for (;;) {
      let token = this.take('value');
      if (token.kind === 'word') {
        values.push(token.text);
        token = this.take('value');
      } else if (token.kind === ',' || token.kind === ')') {
        values.push('');
      }
      if (token.kind === ')') return values;
      if (token.kind !== ',') {
        const expected = values.length === 0 ? "',', ')' or identifier" : "',' or ')'";
        throw unreadable(`found '${token.text}', expected: ${expected}`);
      }
    }
  }
}

function unreadable(what: string): SelectorError {
  return new SelectorError(`unable to parse requirement: ${what}`);
}
