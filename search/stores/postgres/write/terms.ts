// Gives each label and each value of an indexed path a number: 64 bits of a digest, so that processes need not agree on
// a dictionary. Two texts with the same number are found together. By chance this happens to one pair among billions;
// somebody who produces a pair on purpose only mixes up their own objects.
import { hash } from 'node:crypto';

import type { TypeKey } from '../../../types.ts';
import type { RowWrite } from '../../store.ts';
import { fieldPath, labelPath } from '../../term-paths.ts';

/** The signed number of a value of a label or path. @param path from {@link labelPath} or {@link fieldPath} */
export function termId(type: TypeKey, path: string, value: string): bigint {
  // The lengths are part of the text, so that different parts which join to the same text get different numbers.
  return hash('sha256', `${type.length} ${path.length} ${type}${path}${value}`, 'buffer').readBigInt64BE(0);
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

export function arrayIds(text: string): readonly bigint[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',').map(BigInt);
}
