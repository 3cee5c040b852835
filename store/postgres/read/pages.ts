// Reads a page: first the keys of its rows, then the bodies (the JSON of the objects). The first chunk of bodies is
// read in the same transaction as the keys.
import type { PageRequest, RowRead } from '../../store.ts';
import type { BodyLimits } from '../../body-budget.ts';
import { PageKeys, type PageEnd } from '../../page-keys.ts';
import type { PageRows } from './bodies.ts';
import { countRows } from './counts.ts';
import type { FoundRow } from './key-order.ts';
import { KeyStream } from './key-stream.ts';
import type { Question } from './plans.ts';
import type { Snapshot } from './snapshot.ts';

/** The result of reading keys: which rows are on the page, and what the answer says about the rows after it. */
export interface KeyPage extends PageEnd {
  /** Ids of the rows, in order. */
  readonly ids: PageRows;
  /** The first rows, when they were read together with their keys; otherwise empty. */
  readonly first: readonly RowRead[];
}

/**
 * Reads the keys of a page.
 * @throws TooManyBodies (rejects) when too many bodies must be read and the page may not end early
 */
export async function readKeys(
  snapshot: Snapshot,
  question: Question,
  page: PageRequest,
  bodyLimits: BodyLimits | undefined,
): Promise<KeyPage> {
  const rows = new Rows();
  const keys = new PageKeys<FoundRow>(question.query.types, page, bodyLimits, (row) => rows.add(row));
  const stream = new KeyStream(snapshot, question, page.after, keys.wanted, keys.allowance);
  keys.skip(await stream.open());
  for (;;) {
    const found = await stream.next();
    if (found === undefined || keys.take(found)) break;
  }
  keys.check(stream);
  const end = await keys.end(stream, () => countRows(snapshot, question, keys.allowance));
  return { ids: rows.packed(), first: rows.first, ...end };
}

/** The rows of a page as arrays of numbers, which take little memory: a list may contain every row of the index. */
class Rows {
  readonly #ids: number[] = [];
  readonly #incs: number[] = [];
  readonly #bytes: number[] = [];
  readonly first: RowRead[] = [];

  add({ id, type, slot, name, bytes, rest }: FoundRow): void {
    if (rest !== undefined && this.first.length === this.#ids.length) {
      const { id: incarnation, cluster } = slot.incarnation;
      this.first.push({ type, cluster, incarnation, namespace: slot.namespace, name, ...rest });
    }
    this.#ids.push(id);
    this.#incs.push(slot.incarnation.number);
    this.#bytes.push(bytes);
  }

  packed(): PageRows {
    return {
      ids: Float64Array.from(this.#ids),
      incs: Int32Array.from(this.#incs),
      bytes: Int32Array.from(this.#bytes),
    };
  }
}
