// Gives each label and each value of an indexed path a number: 64 bits of a digest, so that processes need not agree on
// a table of numbers. Two texts with the same number would be found together. By chance this happens to one pair among
// billions; somebody who produces a pair on purpose only mixes up their own objects.
import { hash } from 'node:crypto';

import type { TypeKey } from '../../../query/types.ts';
import type { RowWrite } from '../../store.ts';
import { fieldPath, labelPath } from '../../sql/term-paths.ts';

/**
 * The numbers of terms that were computed lately. Most rows have the same few terms, and computing a digest takes ten
 * times as long as a look-up.
 */
const known = new Map<string, bigint>();
const mostKnown = 20_000;
/** Characters. The numbers of longer texts are not kept, because the map would take too much memory. */
const longestKnown = 200;

/**
 * The number of a value of a label or path, signed.
 * @param path from {@link labelPath} or {@link fieldPath}
 */
export function termId(type: TypeKey, path: string, value: string): bigint {
  // The lengths are part of the text. Without them, different parts could join to the same text and get the same
  // number.
  const text = `${type.length} ${path.length} ${type}${path}${value}`;
  let id = known.get(text);
  if (id === undefined) {
    id = hash('sha256', text, 'buffer').readBigInt64BE(0);
    if (known.size === mostKnown) known.clear();
    if (text.length <= longestKnown) known.set(text, id);
  }
  return id;
}

/** A label or indexed value of a row, with its number. */
export interface Term {
  readonly id: bigint;
  readonly path: string;
  readonly value: string;
}

/** The terms of a row, without duplicates, in ascending order of number. */
export function termsOf(type: TypeKey, { labels, terms }: Pick<RowWrite, 'labels' | 'terms'>): readonly Term[] {
  const found = new Map<bigint, Term>();
  const add = (path: string, value: string): void => {
    const id = termId(type, path, value);
    found.set(id, { id, path, value });
  };
  for (const [key, value] of labels) add(labelPath(key), value);
  for (const [path, value] of terms) add(fieldPath(path), value);
  return [...found.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** The numbers in the text form of a PostgreSQL int8[]. */
export function arrayText(ids: readonly bigint[]): string {
  return `{${ids.join()}}`;
}
