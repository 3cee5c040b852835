// Splits a template into texts and actions (`{{…}}`), and actions into tokens (text/template/parse, lex.go). Blanks
// separate operands, so they are tokens too.
import { TemplateError } from './values/template-error.ts';
import { unquote } from './values/go-literals.ts';

export type TokenKind =
  | 'text'
  | 'open'
  | 'close'
  | 'space'
  | 'field'
  | 'variable'
  | 'dot'
  | 'word'
  | 'string'
  | 'number'
  | 'char'
  | '|'
  | '('
  | ')'
  | ','
  | '='
  | ':='
  | 'end';

/**
 * A token. `text` is its source text, or the value of a string; `at` is its offset in the template, in UTF-16 code
 * units.
 */
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
}

const blanks = ' \t\r\n';
const name = /[\p{L}\p{Nd}_]*/uy;
const numeral = /[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9_]*\.?[0-9_]*(?:[eE][+-]?[0-9_]+)?)/y;

/** Splits a template into tokens. @throws TemplateError with the line of the mistake */
export function tokensOf(source: string): readonly Token[] {
  return new Lexer(source).run();
}

/** The line of an offset, as text such as `line 3`. */
export function lineAt(source: string, at: number): string {
  return `line ${source.slice(0, at).split('\n').length}`;
}

class Lexer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;
  #open = 0;

  constructor(source: string) {
    this.#source = source;
  }

  run(): readonly Token[] {
    let trims = false;
    for (;;) {
      const start = this.#source.indexOf('{{', this.#at);
      const end = start < 0 ? this.#source.length : start;
      const trimsBefore = start >= 0 && this.#source[start + 2] === '-' && isBlank(this.#source[start + 3]);
      let text = this.#source.slice(this.#at, end);
      if (trims) text = text.replace(/^[ \t\r\n]+/, '');
      if (trimsBefore) text = trimmedEnd(text);
      if (text !== '') this.#push('text', text, this.#at);
      if (start < 0) break;
      this.#at = start + 2 + (trimsBefore ? 2 : 0);
      trims = this.#source.startsWith('/*', this.#at) ? this.#skipComment(start) : this.#readAction(start);
    }
    this.#push('end', '', this.#source.length);
    return this.#tokens;
  }

  /** Skips a comment of the template. @returns whether it ends in `-}}`, so that blanks after it are removed */
  #skipComment(start: number): boolean {
    const end = this.#source.indexOf('*/', this.#at + 2);
    if (end < 0) throw this.#fault(start, 'unclosed comment');
    this.#at = end + 2;
    const trims = this.#trimsHere();
    if (trims) this.#at += 2;
    if (!this.#source.startsWith('}}', this.#at)) throw this.#fault(start, 'comment ends before closing delimiter');
    this.#at += 2;
    return trims;
  }

  /** Reads an action up to its `}}`. @returns whether it ends in `-}}`, so that blanks after it are removed */
  #readAction(start: number): boolean {
    this.#push('open', '{{', start);
    this.#open = 0;
    for (;;) {
      const trims = this.#trimsHere();
      if (trims || this.#source.startsWith('}}', this.#at)) {
        if (this.#open > 0) throw this.#fault(this.#at, 'unclosed left parenthesis');
        this.#push('close', '}}', this.#at);
        this.#at += trims ? 4 : 2;
        return trims;
      }
      if (this.#at >= this.#source.length) throw this.#fault(start, 'unclosed action');
      this.#readToken();
    }
  }

  /** Whether the action ends here with ` -}}`, which removes the blanks after it. */
  #trimsHere(): boolean {
    return isBlank(this.#source[this.#at]) && this.#source.startsWith('-}}', this.#at + 1);
  }

  #readToken(): void {
    const at = this.#at;
    const c = this.#source[at]!;
    if (isBlank(c)) return this.#readBlanks();
    if (c === '"' || c === '`' || c === "'") return this.#readQuoted(c);
    if (c === '|' || c === ',') return this.#take(c, 1);
    if (c === '(') {
      this.#open += 1;
      return this.#take('(', 1);
    }
    if (c === ')') {
      this.#open -= 1;
      if (this.#open < 0) throw this.#fault(at, 'unexpected right parenthesis');
      return this.#take(')', 1);
    }
    if (this.#source.startsWith(':=', at)) return this.#take(':=', 2);
    if (c === '=') return this.#take('=', 1);
    if (c === '$') return this.#readName('variable', 1);
    const next = this.#source[at + 1] ?? '';
    if (c === '.' && !/\d/.test(next))
      return /[\p{L}\p{Nd}_]/u.test(next) ? this.#readName('field', 1) : this.#take('dot', 1);
    if (/[\d.+-]/.test(c)) return this.#readNumber();
    if (/[\p{L}_]/u.test(c)) return this.#readName('word', 0);
    throw this.#fault(at, `unexpected character ${JSON.stringify(c)}`);
  }

  #readBlanks(): void {
    const start = this.#at;
    // The last blank before `-}}` belongs to the end of the action.
    while (isBlank(this.#source[this.#at]) && !this.#trimsHere()) this.#at += 1;
    if (this.#at > start) this.#push('space', ' ', start);
  }

  #readQuoted(quote: string): void {
    const start = this.#at;
    let end = start + 1;
    for (; ; end += 1) {
      const c = this.#source[end];
      if (c === undefined || (quote !== '`' && c === '\n')) throw this.#fault(start, 'unterminated quoted string');
      if (c === quote) break;
      if (c === '\\' && quote !== '`') end += 1;
    }
    this.#at = end + 1;
    const inner = this.#source.slice(start + 1, end);
    const text = quote === '`' ? inner.replaceAll('\r', '') : unquote(inner, quote);
    if (text === undefined) throw this.#fault(start, 'invalid quoted text');
    this.#push(quote === "'" ? 'char' : 'string', text, start);
  }

  #readNumber(): void {
    numeral.lastIndex = this.#at;
    const [text = ''] = numeral.exec(this.#source) ?? [];
    const end = this.#at + text.length;
    if (!/\d/.test(text) || /[\p{L}\p{Nd}_]/u.test(this.#source[end] ?? '')) throw this.#fault(this.#at, 'bad number');
    this.#take('number', text.length);
  }

  #readName(kind: 'field' | 'variable' | 'word', skip: number): void {
    name.lastIndex = this.#at + skip;
    const [found = ''] = name.exec(this.#source) ?? [];
    const end = this.#at + skip + found.length;
    const next = this.#source[end];
    const isEnded =
      next === undefined || isBlank(next) || '.,|:()='.includes(next) || this.#source.startsWith('}}', end);
    if (!isEnded) throw this.#fault(end, `bad character ${JSON.stringify(next)}`);
    this.#take(kind, skip + found.length);
  }

  #take(kind: TokenKind, length: number): void {
    this.#push(kind, this.#source.slice(this.#at, this.#at + length), this.#at);
    this.#at += length;
  }

  #push(kind: TokenKind, text: string, at: number): void {
    this.#tokens.push({ kind, text, at });
  }

  #fault(at: number, what: string): TemplateError {
    return new TemplateError(`${lineAt(this.#source, at)}: ${what}`);
  }
}

function isBlank(c: string | undefined): boolean {
  return c !== undefined && c !== '' && blanks.includes(c);
}

/**
 * The text without blanks at its end. A regular expression would try to match at every run of blanks, which takes too
 * long.
 */
function trimmedEnd(text: string): string {
  let end = text.length;
  while (isBlank(text[end - 1])) end -= 1;
  return text.slice(0, end);
}
