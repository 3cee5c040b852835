// What a fuzz target is: inputs, how they are made, and what must hold of each. A parser that throws its own kind of
// error has done its job; any other error, a broken promise, or the same input read in two ways is a finding.
import type * as fc from 'fast-check';
import type { Connection } from './connection.ts';

/** What an input is: kept as one line of JSON in `corpus/<target>.jsonl`. */
export type Input = string | readonly Input[] | { readonly [key: string]: Input } | boolean;

/** Bytes of a client connection and how we read them; Go must read them the same way. */
export interface Claim {
  readonly bytes: Buffer;
  readonly read: Connection;
}

/** One parser, or a few that read the same bytes one after the other. */
export interface FuzzTarget<T extends Input = Input> {
  readonly name: string;
  /** Of a million cases, how many are its. */
  readonly share: number;
  /** CPU milliseconds of one case; a case is slow when ten readings in a row take longer. */
  readonly slowMs: number;
  /** Makes inputs, most of them by changing those of the corpus. */
  arbitrary(corpus: readonly T[]): fc.Arbitrary<T>;
  /**
   * Reads an input and throws when something does not hold.
   * @returns what Go is to be asked about
   */
  check(input: T): Claim | undefined;
}

/** Something that must hold does not. */
export class Finding extends Error {
  override readonly name = 'Finding';
}

/** Throws {@link Finding} unless `holds`. */
export function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Finding(what);
}

/** Runs a parser; an error of its own kind is an answer, any other goes on. */
export function refusalOf<T>(
  read: () => T,
  isOwn: (error: unknown) => boolean,
): { readonly value: T } | { readonly refused: string } {
  try {
    return { value: read() };
  } catch (error) {
    if (!isOwn(error)) throw error;
    return { refused: (error as Error).message };
  }
}
