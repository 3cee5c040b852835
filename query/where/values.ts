// Reads the values in an expression of `whereSQL`: literals, parameters, columns, and paths into the object.
import type { PathStep } from '../../lib/json/raw-json.ts';
import { literalOf } from './operands.ts';
import { arrayPath, isMySqlPath, mySqlPath, stepOf } from './paths.ts';
import type { Literal, Operand, Reference, WhereColumn } from '../predicate.ts';
import { whereColumns } from '../predicate.ts';
import { shownText, type Token, type TokenReader } from './tokens.ts';

/** A value for a `?`. A list stands for the values of `IN`. */
export type Parameter = string | number | bigint | boolean | null | readonly Parameter[];

/** Reads values from tokens. */
export class ValueReader {
  readonly #tokens: TokenReader;
  readonly #parameters: readonly Parameter[] | undefined;
  #used = 0;

  /** @param parameters the values of the expression's `?`, in order; undefined when it may have none */
  constructor(tokens: TokenReader, parameters: readonly Parameter[] | undefined) {
    this.#tokens = tokens;
    this.#parameters = parameters;
  }

  /** The literal, parameter, column or JSON_EXTRACT that comes next. @throws GatewayError BAD_REQUEST */
  value(): Operand {
    const { kind, value, at } = this.#tokens.next;
    switch (kind) {
      case 'text':
        return this.#literal(this.#tokens.take().at, value);
      case 'number':
        this.#tokens.take();
        return { kind: 'literal', type: 'number', value };
      case 'quoted':
        return this.#column(this.#tokens.take().at, value);
      case 'word':
        return this.#word(this.#tokens.take());
      default:
        return value === '?' ? this.#literal(at, this.#parameter()) : this.#signed(at);
    }
  }

  #signed(at: number): Operand {
    const isNegative = this.#tokens.takes('-');
    const isSigned = isNegative || this.#tokens.takes('+');
    if (!isSigned || this.#tokens.next.kind !== 'number')
      throw this.#tokens.fault(`${this.#tokens.shown()} is not expected here`, at);
    const { value } = this.#tokens.take();
    return { kind: 'literal', type: 'number', value: isNegative ? `-${value}` : value };
  }

  #word(token: Token): Operand {
    switch (token.value) {
      case 'NULL':
        return literalOf(null);
      case 'TRUE':
      case 'FALSE':
        return literalOf(token.value === 'TRUE');
      case 'JSON_EXTRACT':
        return this.#jsonExtract();
      case 'JSON_UNQUOTE': {
        this.#tokens.expect('(');
        if (!this.#tokens.takesWord('JSON_EXTRACT')) throw this.#tokens.fault('expected JSON_EXTRACT');
        const reference = this.#jsonExtract();
        this.#tokens.expect(')');
        return { ...reference, type: 'text' };
      }
      default:
        return this.#column(token.at, token.value.toLowerCase());
    }
  }

  #column(at: number, name: string): Operand {
    if (name === 'object') return { kind: 'path', path: [], type: 'jsonb' };
    if (this.#tokens.isNext('symbol', '('))
      throw this.#tokens.fault(`the function ${shownText(name)} is not supported`, at);
    if (!(whereColumns as readonly string[]).includes(name)) {
      const all = [...whereColumns, 'object'].join(', ');
      throw this.#tokens.fault(`there is no column ${shownText(name)}; the columns are ${all}`, at);
    }
    const column = name as WhereColumn;
    return { kind: 'column', column, type: column === 'created_at' ? 'time' : 'text' };
  }

  #jsonExtract(): Extract<Reference, { kind: 'path' }> {
    this.#tokens.expect('(');
    if (!this.#tokens.takesWord('OBJECT') && !this.#tokens.takes('object', 'quoted'))
      throw this.#tokens.fault('expected object');
    this.#tokens.expect(',');
    const path = mySqlPath(this.#tokens.name, this.#tokens.text("a path such as '$.status.phase'"));
    this.#tokens.expect(')');
    return { kind: 'path', path, type: 'json' };
  }

  /**
   * Reads the arrows (`->`, `->>`, `#>`, `#>>`) that follow a value, and returns what they lead to. @throws
   * GatewayError BAD_REQUEST
   */
  withArrows(start: Operand): Operand {
    let value = start;
    for (;;) {
      const { at } = this.#tokens.next;
      const arrow = (['->>', '->', '#>>', '#>'] as const).find((sign) => this.#tokens.takes(sign));
      if (arrow === undefined) return value;
      if (value.kind !== 'path' || value.type !== 'jsonb')
        throw this.#tokens.fault(`before ${arrow} there must be object, or another ->`, at);
      value = this.#step(value.path, arrow);
    }
  }

  #step(path: readonly PathStep[], arrow: '->' | '->>' | '#>' | '#>>'): Reference {
    const type = arrow.endsWith('>>') ? 'text' : 'jsonb';
    const { name } = this.#tokens;
    if (arrow.startsWith('#')) {
      const keys = arrayPath(name, this.#tokens.text("keys such as '{status,phase}'"));
      return { kind: 'path', path: [...path, ...keys], type };
    }
    if (this.#tokens.next.kind === 'number')
      return { kind: 'path', path: [...path, stepOf(name, this.#tokens.take())], type };
    const text = this.#tokens.text('a key in quotes, or the number of an element');
    if (path.length === 0 && isMySqlPath(text.value))
      return { kind: 'path', path: mySqlPath(name, text), type: type === 'text' ? 'text' : 'json' };
    return { kind: 'path', path: [...path, { kind: 'key', key: text.value }], type };
  }

  /** The values of `IN ?` or of a `?` between its parentheses: those of a list, or one. @throws GatewayError */
  listParameter(): readonly Operand[] {
    const { at } = this.#tokens.next;
    const value = this.#parameter();
    return (Array.isArray(value) ? (value as readonly Parameter[]) : [value]).map((one) => this.#literal(at, one));
  }

  /** @throws GatewayError BAD_REQUEST when there are parameters without a `?` */
  end(): void {
    const given = this.#parameters?.length ?? 0;
    if (this.#used < given) throw this.#tokens.fault(`${given} parameters are given for ${this.#used} question marks`);
  }

  #parameter(): Parameter {
    const { at } = this.#tokens.next;
    this.#tokens.expect('?');
    if (this.#parameters === undefined) throw this.#tokens.fault('a ? needs whereSQLStatement and its parameters', at);
    const value = this.#parameters[this.#used++];
    if (value === undefined) throw this.#tokens.fault(`there is no parameter for this ?`, at);
    return value;
  }

  #literal(at: number, value: Parameter): Literal {
    if (typeof value === 'object' && value !== null) throw this.#tokens.fault('a list of parameters belongs to IN', at);
    if (typeof value === 'string' && (!value.isWellFormed() || value.includes('\0')))
      throw this.#tokens.fault('the text has a character that no object can hold', at);
    return literalOf(value);
  }
}
