// Labels and values of indexed paths as numbers: 64 bits of a digest, so that no two processes have to agree on them. A
// text that shares its number with another is found with it; by chance that is one pair among billions of texts, and
// who makes a pair on purpose has both among his own objects.
import { hash } from 'node:crypto';

import type { TypeKey } from '../../../types.ts';
import type { RowWrite } from '../../store.ts';
import { fieldPath, labelPath } from '../../term-paths.ts';

/** Numbers of terms that came last: most rows have the same few, and a digest takes ten times as long. */
const known = new Map<string, bigint>();
const mostKnown = 20_000;
const longestKnown = 200;

/** The number of a value of a label or path of a type, signed. @param path of {@link labelPath} or {@link fieldPath} */
export function termId(type: TypeKey, path: string, value: string): bigint {
  // The lengths keep apart what concatenation would not.
  const text = `${type.length} ${path.length} ${type}${path}${value}`;
  let id = known.get(text);
  if (id === undefined) {
    id = hash('sha256', text, 'buffer').readBigInt64BE(0);
    if (known.size === mostKnown) known.clear();
    if (text.length <= longestKnown) known.set(text, id);
  }
  return id;
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
