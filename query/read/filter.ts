// Parses the parameter `filter`: conditions on fields, separated by commas and combined with OR. When there are several
// filters, they are combined with AND. A value that contains a comma or a bracket needs quotes or backslashes.
import { readColumnPath } from '../columns.ts';
import { checkOperand } from '../selectors/field-selector.ts';
import type { FieldRequirement } from '../list-query.ts';
import { bad } from '../parameters.ts';
import { shortened } from '../../lib/text/shortened.ts';

const longestFilter = 32 * 1024;
const mostTerms = 256;
/** The most values in all `in` and `notin` sets together; beyond it the request is refused. Each value is looked up. */
const mostValues = 10_000;

const operators: Readonly<Record<string, FieldRequirement['operator']>> = {
  '=': 'Equals',
  '==': 'Equals',
  '!=': 'NotEquals',
  '~': 'Contains',
  '<': 'Lt',
  '>': 'Gt',
};

/**
 * Parses filters such as `status.phase=Failed,status.phase=Unknown`, `spec.nodeName in (a,b)`, `spec.replicas>3`,
 * `spec.containers[].image~redis`, `!metadata.deletionTimestamp`, `spec.message='a, b'`.
 * @returns one list for each filter, with the filter's conditions, of which at least one must match
 * @throws GatewayError BAD_REQUEST for an invalid condition, and when a limit is exceeded
 */
export function readFilters(filters: readonly string[]): readonly (readonly FieldRequirement[])[] {
  if (filters.some(({ length }) => length > longestFilter))
    throw bad(`a filter is longer than ${longestFilter} characters`);
  let terms = 0;
  let values = 0;
  return filters.map((filter) => {
    const scanner = new Scanner(filter);
    const any: FieldRequirement[] = [];
    do {
      const term = scanner.term();
      any.push(term);
      values += term.values.length;
      if (values > mostValues) throw bad(`the filters have more than ${mostValues} values`);
      if (++terms > mostTerms) throw bad(`the filters have more than ${mostTerms} terms`);
    } while (scanner.takes(','));
    scanner.end();
    return any;
  });
}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  term(): FieldRequirement {
    const isNegated = this.takes('!');
    const written = this.#path();
    const path = readColumnPath(written, true);
    if (isNegated) return { path, operator: 'DoesNotExist', values: [] };
    this.#blanks();
    const next = this.#text[this.#at];
    if (next === undefined || next === ',') return { path, operator: 'Exists', values: [] };
    for (const word of ['in', 'notin'])
      if (this.#takesWord(word)) return { path, operator: word === 'in' ? 'In' : 'NotIn', values: this.#set() };
    const symbol = ['==', '!=', '=', '~', '<', '>'].find((candidate) => this.takes(candidate));
    if (symbol === undefined) throw this.#fault('expected one of = != ~ < > in notin');
    const value = this.#value(',');
    const operator = operators[symbol]!;
    if (operator === 'Gt' || operator === 'Lt') checkOperand(written, value);
    if (operator === 'Contains' && value === '') throw this.#fault('~ needs a text');
    return { path, operator, values: [value] };
  }

  /** Skips blanks and, if `text` comes next, skips `text` as well. Returns whether `text` came. */
  takes(text: string): boolean {
    this.#blanks();
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  end(): void {
    this.#blanks();
    if (this.#at < this.#text.length) throw this.#fault("expected ',' or the end");
  }

  #takesWord(word: string): boolean {
    const start = this.#at;
    if (this.takes(word) && this.takes('(')) return true;
    this.#at = start;
    return false;
  }

  #set(): readonly string[] {
    const values: string[] = [];
    do values.push(this.#value(',)'));
    while (this.takes(','));
    if (!this.takes(')')) throw this.#fault("expected ',' or ')'");
    return values;
  }

  /** Reads a path: everything up to an operator or a blank. Inside quotes, operators and blanks belong to the path. */
  #path(): string {
    this.#blanks();
    const start = this.#at;
    let quote = '';
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text[this.#at]!;
      if (quote !== '') {
        if (char === '\\') this.#at++;
        else if (char === quote) quote = '';
      } else if (char === "'" || char === '"') quote = char;
      else if ('=!~<>,() '.includes(char)) break;
    }
    if (this.#at === start) throw this.#fault('expected a path');
    return this.#text.slice(start, this.#at);
  }

  /**
   * Reads a value, which is either in quotes or ends before one of the characters in `ends`. Blanks around it do not
   * belong to it. A backslash takes the next character literally.
   */
  #value(ends: string): string {
    this.#blanks();
    const quote = this.#text[this.#at];
    if (quote === "'" || quote === '"') return this.#quoted(quote);
    let value = '';
    let length = 0;
    for (; this.#at < this.#text.length && !ends.includes(this.#text[this.#at]!); this.#at++) {
      const isEscaped = this.#text[this.#at] === '\\' && this.#at + 1 < this.#text.length;
      if (isEscaped) this.#at++;
      value += this.#text[this.#at];
      if (isEscaped || this.#text[this.#at] !== ' ') length = value.length;
    }
    return value.slice(0, length);
  }

  #quoted(quote: string): string {
    let value = '';
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      if (this.#text[this.#at] === quote) {
        this.#at++;
        return value;
      }
      if (this.#text[this.#at] === '\\' && this.#at + 1 < this.#text.length) this.#at++;
      value += this.#text[this.#at];
    }
    throw this.#fault('a quote is not closed');
  }

  #blanks(): void {
    while (this.#text[this.#at] === ' ') this.#at++;
  }

  #fault(why: string): Error {
    return bad(`filter "${shortened(this.#text, 200)}" cannot be read at character ${this.#at + 1}: ${why}`);
  }
}
