// Splits label and field selectors into tokens (apimachinery/pkg/labels.Lexer) and parses the grammar that both have in
// common. `in` and `notin` are operators only after a key, so that `x in (in)` has the value `in`. In the key of a
// field selector, operators inside quotes belong to the key.

export type TokenKind = 'end' | 'word' | 'in' | 'notin' | '=' | '==' | '!=' | '!' | '>' | '<' | '(' | ')' | ',';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Position after the token in the selector's text, where the next token may begin. */
  readonly end: number;
}

/**
 * The meaning of quotes and backslashes. `plain`: they have none. `path`: quotes enclose a key of a path. `value`: a
 * backslash takes the next character literally.
 */
export type LexerMode = 'plain' | 'path' | 'value';

const special = '=!(),><';
const blank = ' \t\r\n';

/** The longest token that begins at `start`, after any blanks there. */
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

/** Whether a key of a path may begin at `at`. Only there does a quote open a quoted key. */
function opensKey(text: string, start: number, at: number): boolean {
  return at === start || text[at - 1] === '[' || text[at - 1] === '.';
}

/** The position of the closing quote. When the quote is never closed, the position of the opening quote. */
function quoteEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === text[start]) return at;
  }
  return start;
}

/** One requirement of a selector, exactly as it was written. */
export interface WrittenRequirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | '=' | '==' | '!=' | '>' | '<' | 'exists' | '!';
  /**
   * The values in the order in which they were written, with duplicates. `in` and `notin` have any number of values,
   * `exists` and `!` have none, all other operators have one.
   */
  readonly values: readonly string[];
}

/** Thrown when a selector cannot be parsed. The message has the same words as kube-apiserver's. */
export class SelectorError extends Error {}

const binaryOperators = 'in, notin, =, ==, !=, gt, lt';

/** How to read keys and values of a selector, and which keys and values are valid. */
export interface SelectorGrammar {
  readonly keyMode: LexerMode;
  readonly valueMode: LexerMode;
  /** Throws when the key is invalid. */
  readonly checkKey: (key: string) => void;
  /**
   * Throws when the values of a requirement are invalid. Called before the next requirement is parsed, so that the
   * first error in the selector is the one that is reported.
   */
  readonly checkRequirement?: (requirement: WrittenRequirement) => void;
  readonly maxRequirements: number;
}

/**
 * Parses a selector (apimachinery/pkg/labels.Parser).
 * @throws SelectorError for an invalid selector, and whatever `checkKey` and `checkRequirement` throw
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

  /** Returns the next token without consuming it. `in` and `notin` count as words unless `place` is 'operator'. */
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

  /**
   * Reads a set such as `(a, b)`. An item that is left out is the empty text: `()` has one value, and `(,)` has two.
   */
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
