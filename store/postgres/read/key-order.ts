// The order of a query in SQL: the expressions to sort by, and the condition for rows that come after a given row.
import type { KeyRow, RowOrder, RowPlace } from '../../row-order.ts';
import { compareText } from '../../../lib/text/compare-text.ts';
import type { IncarnationRecord } from './catalog.ts';
import { bytes, join, numberFragment, fragment, type SqlFragment } from './sql.ts';

/** A namespace in an incarnation, with the incarnation's number and shard. */
export interface FoundPlace extends RowPlace {
  readonly incarnation: IncarnationRecord;
}

/** The sort keys of a row, and the length of its body in bytes. */
export interface FoundRow extends KeyRow<FoundPlace> {
  readonly bytes: number;
  /** The uid and body of the row, when the statement that read the keys has read these, too. */
  readonly rest?: { readonly uid: string; readonly raw: Buffer };
}

/** One expression to sort rows by. */
interface SqlKey {
  readonly by: SqlFragment;
  readonly isDescending: boolean;
  /** SQL for the value that this sort expression has for a given row, as a constant. */
  readonly of: (row: KeyRow) => SqlFragment;
}

/** The order of the rows of one type in some incarnations. */
export class KeyOrder {
  readonly #keys: readonly SqlKey[];
  readonly #type: string;

  /**
   * @param incarnations those that can have rows
   * @param isOfOne true when all rows, and the rows they are compared with, are in one incarnation: then no comparison
   *   of clusters is needed
   */
  constructor(order: RowOrder, type: string, incarnations: readonly IncarnationRecord[], isOfOne: boolean) {
    const ranks = new ClusterRanks(incarnations);
    this.#type = type;
    this.#keys = order.keys.flatMap(({ by, direction }): readonly SqlKey[] => {
      const key = (text: string, of: SqlKey['of']): SqlKey => {
        return { by: fragment(text), isDescending: direction === -1, of };
      };
      switch (by) {
        case 'cluster':
          return isOfOne ? [] : [{ ...key('', (row) => ranks.of(row)), by: ranks.fragment }];
        case 'namespace':
          return [key('o.namespace', ({ slot }) => fragment('?::bytea', bytes(slot.namespace)))];
        case 'name':
          return [key('o.name', ({ name }) => fragment('?::bytea', bytes(name)))];
        case 'created_at':
          return [key('o.created', ({ created }) => numberFragment(created))];
        case 'resource_version':
          // The values are decimal numbers as text, so a longer one is larger.
          return [
            key('length(o.rv)', ({ rv }) => fragment('?::int4', bytes(rv).length)),
            key('o.rv', ({ rv }) => fragment('?::bytea', bytes(rv))),
          ];
        default:
          // All rows here have the same type, so the type needs no key. Values at paths are sorted outside of the
          // database.
          return [];
      }
    });
  }

  get orderBy(): SqlFragment {
    return join(
      this.#keys.map(({ by, isDescending }) => ({ ...by, text: `${by.text}${isDescending ? ' DESC' : ''}` })),
      ', ',
    );
  }

  /** Conditions for the rows that come after `row`. `row` may be of another type. */
  after(row: KeyRow): readonly SqlFragment[] {
    // The type is the last sort key of every order. It decides when all other keys are equal.
    const isEqualAfter = compareText(this.#type, row.type) > 0;
    let rest: SqlFragment = isEqualAfter ? fragment('true') : fragment('false');
    for (const { by, isDescending, of } of this.#keys.toReversed()) {
      const value = of(row);
      const than = compared(by, isDescending ? '<' : '>', value);
      const equal = compared(by, '=', value);
      const text: string = `(${than.text} OR (${equal.text} AND ${rest.text}))`;
      rest = { text, values: [...than.values, ...equal.values, ...rest.values] };
    }
    const [first] = this.#keys;
    // `from` repeats the condition on the first key as a simple comparison, for which PostgreSQL can use an index on
    // its column.
    const from = first && compared(first.by, first.isDescending ? '<=' : '>=', first.of(row));
    return from === undefined ? [rest] : [from, rest];
  }
}

function compared(one: SqlFragment, operator: string, other: SqlFragment): SqlFragment {
  return { text: `${one.text} ${operator} ${other.text}`, values: [...one.values, ...other.values] };
}

/**
 * SQL compares clusters by the rank of their incarnation among the sorted names. When the numbers of incarnations have
 * gaps larger than this on average, SQL finds the rank by searching a list. With smaller gaps the rank is the element
 * of an array at the incarnation's number.
 */
const mostGap = 64;

/**
 * The ranks of incarnations when they are sorted by the names of their clusters, as SQL for a column and for a given
 * row.
 */
class ClusterRanks {
  readonly #sorted: readonly IncarnationRecord[];
  readonly fragment: SqlFragment;

  constructor(incarnations: readonly IncarnationRecord[]) {
    this.#sorted = incarnations.toSorted(compareIncarnations);
    const largest = Math.max(0, ...incarnations.map(({ number }) => number));
    if (largest > mostGap * (incarnations.length + 1)) {
      const numbers = this.#sorted.map(({ number }) => number);
      this.fragment = fragment('2 * array_position(?::int4[], o.inc)', numbers);
      return;
    }
    const ranks = Array.from({ length: largest }, () => 0);
    for (const [at, { number }] of this.#sorted.entries()) ranks[number - 1] = 2 * (at + 1);
    this.fragment = fragment('(?::int4[])[o.inc]', ranks);
  }

  /**
   * The rank of a row's incarnation. It is even for an incarnation of the list, and odd for one that is not in the list
   * and would stand between two of them.
   */
  of({ slot }: KeyRow): SqlFragment {
    const { incarnation } = slot;
    const before = this.#sorted.filter((one) => compareIncarnations(one, incarnation) < 0).length;
    const isKnown = this.#sorted[before]?.id === incarnation.id;
    return fragment('?::int4', 2 * before + (isKnown ? 2 : 1));
  }
}

type Named = Pick<IncarnationRecord, 'id' | 'cluster'>;

export function compareIncarnations(one: Named, other: Named): number {
  return compareText(one.cluster, other.cluster) || compareText(one.id, other.id);
}

/** Whether rows in this order are grouped by cluster. */
export function isByCluster({ keys, paths }: RowOrder): boolean {
  return keys[0]!.by === 'cluster' && paths.length === 0;
}
