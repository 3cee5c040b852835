// Pseudo-random numbers: the same seed gives the same numbers, so that a simulated cluster can be created again with
// the same content. Do not use them for secrets.

/** A source of pseudo-random numbers. */
export interface Random {
  /** A number from 0 to 1, excluding 1. */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number;
  /** One of the values. The list must not be empty. */
  pick<T>(values: readonly T[]): T;
  /** The values in random order. */
  shuffle<T>(values: readonly T[]): T[];
}

/** Makes a source from a seed text (FNV-1a, then mulberry32). */
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
