// The type of a limit that a measured value must not exceed.

/** Names a measured value of one lane, a program together with a client protocol. */
export interface Side {
  readonly lane: string;
  readonly value: string;
}

/** An upper limit for a measured value, or for the ratio or difference of two. */
export interface Check {
  readonly says: string;
  readonly scenario: string;
  readonly kind: 'ratio' | 'difference' | 'median';
  readonly of: Side;
  /** The value to divide by (`ratio`) or to subtract (`difference`), from the same round; undefined for `median`. */
  readonly against?: Side;
  readonly bound: number;
  readonly unit: string;
}
