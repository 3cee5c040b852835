// The type of a limit that a measured value must keep.

/** One measured value of one lane (a program and a client protocol), for example its CPU time per request. */
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
  /** The value to divide by or to subtract, from the same round; undefined when `kind` is `median`. */
  readonly against?: Side;
  readonly bound: number;
  readonly unit: string;
}
