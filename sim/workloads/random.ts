// Numbers that look random and are the same for the same seed, so that a simulated cluster can be made twice. Not
// for secrets.

/** Draws numbers and choices. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** Whole, both ends included. */
  between(least: number, most: number): number;
  /** One of the values; the list must not be empty. */
  pick<T>(values: readonly T[]): T;
  /** The values in another order. */
  shuffle<T>(values: readonly T[]): T[];
}

/** Makes a source from any text (FNV-1a, then mulberry32). */
export function createRandom(seed: string): Random {
  let state = 0x811c_9dc5;
  for (const byte of Buffer.from(seed)) state = Math.imul(state ^ byte, 0x0100_0193);
  const next = (): number => {
    state = (state + 0x6d2b_79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    pick: (values) => values[between(0, values.length - 1)] as (typeof values)[number],
    shuffle(values) {
      const rest = [...values];
      for (let i = rest.length - 1; i > 0; i--) {
        const j = between(0, i);
        const moved = rest[i] as (typeof values)[number];
        rest[i] = rest[j] as (typeof values)[number];
        rest[j] = moved;
      }
      return rest;
    },
  };
}
