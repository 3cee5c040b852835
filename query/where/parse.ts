// Parses the expression of `whereSQL` with this grammar, and refuses everything else:
//
//   condition   = condition OR condition | condition AND condition | NOT condition | ( condition )
//               | value (= | <> | != | < | <= | > | >=) value | value [NOT] IN ( value, … )
//               | value [NOT] LIKE text | value [NOT] ILIKE text | value IS [NOT] NULL
//               | value [NOT] BETWEEN value AND value | TRUE | FALSE | NULL
//   value       = 'text' | number | TRUE | FALSE | NULL | ? | column | ( value ) | path
//   path        = object | path -> step | path ->> step | path #> '{a,b}' | path #>> '{a,b}'
//               | JSON_EXTRACT(object, '$.a') | JSON_UNQUOTE(JSON_EXTRACT(object, '$.a'))
//
// No text of the expression becomes SQL: the result is data, which the stores compile as they do any other condition.
import { comparison, NotComparable, opposite, unknown, type Unknown } from './operands.ts';
import { searchedCharacters } from '../like.ts';
import type { Comparison, Leaf, Operand, Predicate } from '../predicate.ts';
import { TokenReader } from './tokens.ts';
import { ValueReader, type Parameter } from './values.ts';

/** How deep parentheses and NOT may be nested. Deeper expressions are refused. */
const deepest = 100;
/** The most comparisons of an expression, and the most values of all its sets. */
const mostLeaves = 400;
const mostValues = 10_000;
/** The most characters of patterns that are compared at each character of a text: {@link searchedCharacters}. */
const mostSearched = 64;

type Parsed =
  | Leaf
  | Unknown
  | { readonly kind: 'and' | 'or'; readonly of: readonly Parsed[] }
  | { readonly kind: 'not'; readonly of: Parsed };

/** A condition, or a value of which a condition can be made. */
type Node = { readonly condition: Parsed } | { readonly value: Operand };

/**
 * Parses an expression.
 * @param name of the URL parameter that holds it, for messages
 * @param parameters the values of its `?`, in order; undefined when it may have none
 * @throws GatewayError BAD_REQUEST that names the place, for everything that the grammar does not have
 */
export function parseWhere(name: string, text: string, parameters?: readonly Parameter[]): Predicate {
  return new Parser(name, text, parameters).parse();
}

class Parser {
  readonly #tokens: TokenReader;
  readonly #values: ValueReader;
  #depth = 0;
  #leaves = 0;
  #inSets = 0;
  #searched = 0;

  constructor(name: string, text: string, parameters: readonly Parameter[] | undefined) {
    this.#tokens = new TokenReader(name, text);
    this.#values = new ValueReader(this.#tokens, parameters);
  }

  parse(): Predicate {
    const condition = this.#or();
    if (this.#tokens.next.kind !== 'end')
      throw this.#tokens.fault(`expected the end, AND or OR, not ${this.#tokens.shown()}`);
    this.#values.end();
    return normalized(condition, false);
  }

  #or(): Parsed {
    return this.#orAfter(this.#not());
  }

  /** Reads the ANDs and ORs that follow a condition, with the conditions that they join to it. */
  #orAfter(first: Parsed): Parsed {
    const and = (one: Parsed): Parsed => this.#joined('and', 'AND', one, () => this.#not());
    return this.#joined('or', 'OR', and(first), () => and(this.#not()));
  }

  #joined(kind: 'and' | 'or', word: string, first: Parsed, read: () => Parsed): Parsed {
    const of = [first];
    while (this.#tokens.takesWord(word)) of.push(read());
    return of.length === 1 ? first : { kind, of };
  }

  #not(): Parsed {
    if (!this.#tokens.takesWord('NOT')) return this.#condition();
    return this.#nested(() => ({ kind: 'not', of: this.#not() }));
  }

  #condition(): Parsed {
    const { at } = this.#tokens.next;
    return this.#conditionOf(at, this.#primary());
  }

  /**
   * Returns the condition that was read, or makes one of the value that was read and the operator after it. @param at
   * position of the node, for messages
   */
  #conditionOf(at: number, node: Node): Parsed {
    if ('condition' in node) return node.condition;
    const { value } = node;
    const condition = this.#about(value);
    if (condition !== undefined) return condition;
    if (value.type === 'null') return unknown;
    if (value.kind === 'literal' && value.type === 'boolean') return { kind: 'constant', value: value.value };
    throw this.#tokens.fault('a comparison is expected: = <> < > IN LIKE BETWEEN IS NULL', at);
  }

  /**
   * Reads an operator and what follows it, and makes a condition on the value before it; undefined when no operator
   * follows.
   */
  #about(left: Operand): Parsed | undefined {
    const operator = this.#comparison();
    if (operator !== undefined) {
      const { at } = this.#tokens.next;
      return this.#compare(at, operator, left, this.#value());
    }
    if (this.#tokens.takesWord('IS')) {
      const isNegated = this.#tokens.takesWord('NOT');
      if (!this.#tokens.takesWord('NULL'))
        throw this.#tokens.fault('expected NULL: only IS NULL and IS NOT NULL are supported');
      return this.#counted({ kind: 'null', left, isNegated });
    }
    const isNegated = this.#tokens.takesWord('NOT');
    const negated = (of: Parsed): Parsed => (isNegated ? { kind: 'not', of } : of);
    if (this.#tokens.takesWord('IN')) return negated(this.#in(left));
    if (this.#tokens.takesWord('BETWEEN')) return negated(this.#between(left));
    for (const word of ['LIKE', 'ILIKE'])
      if (this.#tokens.takesWord(word)) return negated(this.#like(left, word === 'ILIKE'));
    if (isNegated) throw this.#tokens.fault('expected IN, LIKE, ILIKE or BETWEEN');
    return undefined;
  }

  #comparison(): Comparison | undefined {
    for (const operator of ['=', '<>', '<', '<=', '>', '>='] as const)
      if (this.#tokens.takes(operator)) return operator;
    return this.#tokens.takes('!=') ? '<>' : undefined;
  }

  #compare(at: number, operator: Comparison, left: Operand, right: Operand): Parsed {
    try {
      return this.#counted(comparison(this.#tokens.name, operator, left, right));
    } catch (error) {
      throw error instanceof NotComparable ? this.#tokens.fault(error.message, at) : error;
    }
  }

  #in(left: Operand): Parsed {
    const { at } = this.#tokens.next;
    const values = this.#set();
    this.#inSets += values.length;
    if (this.#inSets > mostValues)
      throw this.#tokens.fault(`the sets of IN have more than ${mostValues} values together`, at);
    const known = values.filter(({ type }) => type !== 'null');
    const hasNull = known.length < values.length || values.length === 0;
    const texts = known.flatMap((value) => (value.kind === 'literal' && value.type === 'text' ? [value.value] : []));
    const found: readonly Parsed[] =
      left.kind !== 'literal' && left.type === 'text' && texts.length === known.length
        ? [this.#counted({ kind: 'in', left, texts, isNegated: false })]
        : known.map((value) => this.#compare(at, '=', left, value));
    return { kind: 'or', of: hasNull ? [...found, unknown] : found };
  }

  /** The values of `IN (…)`, or of `IN ?` with a list as parameter. */
  #set(): readonly Operand[] {
    if (this.#tokens.isNext('symbol', '?')) return this.#values.listParameter();
    this.#tokens.expect('(');
    const values: Operand[] = [];
    do {
      if (this.#tokens.isNext('symbol', '?')) values.push(...this.#values.listParameter());
      else values.push(this.#value());
    } while (this.#tokens.takes(','));
    this.#tokens.expect(')');
    return values;
  }

  #between(left: Operand): Parsed {
    const { at } = this.#tokens.next;
    const least = this.#value();
    if (!this.#tokens.takesWord('AND')) throw this.#tokens.fault('expected AND of BETWEEN');
    const most = this.#value();
    return { kind: 'and', of: [this.#compare(at, '>=', left, least), this.#compare(at, '<=', left, most)] };
  }

  #like(left: Operand, ignoresCase: boolean): Parsed {
    const { at } = this.#tokens.next;
    const pattern = this.#value();
    if (pattern.type === 'null' || left.type === 'null') return unknown;
    if (pattern.kind !== 'literal' || pattern.type !== 'text')
      throw this.#tokens.fault('the pattern of LIKE must be a text', at);
    if (left.type !== 'text' && left.type !== 'json')
      throw this.#tokens.fault(left.type === 'jsonb' ? 'LIKE needs a text: use ->>' : 'LIKE needs a text', at);
    if (/^(?:[^\\]|\\[^])*\\$/.test(pattern.value))
      throw this.#tokens.fault('a pattern of LIKE must not end with a backslash', at);
    this.#searched += searchedCharacters(pattern.value);
    if (this.#searched > mostSearched)
      throw this.#tokens.fault(`patterns with _ between two % have more than ${mostSearched} characters together`, at);
    return this.#counted({ kind: 'like', left, pattern: pattern.value, ignoresCase, isNegated: false });
  }

  #value(): Operand {
    const { at } = this.#tokens.next;
    const node = this.#primary();
    if ('value' in node) return node.value;
    throw this.#tokens.fault('a value is expected, not a condition', at);
  }

  /** A value, or a condition in parentheses. */
  #primary(): Node {
    const node = this.#tokens.takes('(') ? this.#nested(() => this.#inParentheses()) : { value: this.#values.value() };
    return 'value' in node ? { value: this.#values.withArrows(node.value) } : node;
  }

  /** Reads what is between parentheses: a value when nothing follows it, otherwise a condition. */
  #inParentheses(): Node {
    const node = this.#unclosed();
    this.#tokens.expect(')');
    return node;
  }

  #unclosed(): Node {
    if (this.#tokens.isNext('word', 'NOT')) return { condition: this.#or() };
    const { at } = this.#tokens.next;
    const node = this.#primary();
    const isEnd = this.#tokens.isNext('symbol', ')');
    return isEnd && 'value' in node ? node : { condition: this.#orAfter(this.#conditionOf(at, node)) };
  }

  #counted<Condition>(condition: Condition): Condition {
    if (++this.#leaves > mostLeaves) throw this.#tokens.fault(`more than ${mostLeaves} comparisons`);
    return condition;
  }

  #nested<Result>(read: () => Result): Result {
    if (++this.#depth > deepest) throw this.#tokens.fault(`nested deeper than ${deepest}`);
    const result = read();
    this.#depth--;
    return result;
  }
}

/**
 * Returns a condition that means the same and has neither NOT nor NULL in it. @param isNegated whether the opposite of
 * the condition is meant
 */
function normalized(condition: Parsed, isNegated: boolean): Predicate {
  switch (condition.kind) {
    case 'unknown':
      return { kind: 'constant', value: false };
    case 'not':
      return normalized(condition.of, !isNegated);
    case 'and':
    case 'or': {
      const kind = (condition.kind === 'and') === isNegated ? 'or' : 'and';
      const of = condition.of.map((one) => normalized(one, isNegated));
      return of.length === 1 ? of[0]! : { kind, of };
    }
    default:
      return isNegated ? opposite(condition) : condition;
  }
}
