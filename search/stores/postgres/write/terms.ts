// Labels and values of indexed paths as numbers: 64 bits of a digest, so that no two processes have to agree on them. A
// text that shares its number with another is found with it; by chance that is one pair among billions of texts, and
// who makes a pair on purpose has both among his own objects.
import { hash } from 'node:crypto';

import type { TypeKey } from '../../../types.ts';
import type { RowWrite } from '../../store.ts';
import { fieldPath, labelPath } from '../../term-paths.ts';

/** The number of a value of a label or path of a type, signed. @param path of {@link labelPath} or {@link fieldPath} */
export function termId(type: TypeKey, path: string, value: string): bigint {
  // The lengths keep apart what concatenation would not.
  return hash('sha256', `${type.length} ${path.length} ${type}${path}${value}`, 'buffer').readBigInt64BE(0);
}

/** A term of a row. */
export interface Term {
  readonly id: bigint;
  readonly path: string;
  readonly value: string;
}

/** Terms of a row, each once, by ascending number. */
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

/** As PostgreSQL prints and reads an int8[]. */
export function arrayText(ids: readonly bigint[]): string {
  return `{${ids.join()}}`;
}

export function arrayIds(text: string): readonly bigint[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',').map(BigInt);
}
