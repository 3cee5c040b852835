// The types of a limit that a measured value must not exceed.

/**
 * Names a measured value of one contender. A contender is a program together with the HTTP version of its clients, or a
 * case that a scenario compares.
 */
export interface Side {
  readonly contender: string;
  readonly value: string;
}

/** An upper limit (`bound`) for the median of a measured value, or for the ratio or difference of two values. */
export interface Check {
  readonly says: string;
  readonly scenario: string;
  readonly kind: 'ratio' | 'difference' | 'median';
  readonly of: Side;
  /**
   * The value to divide by (`ratio`) or to subtract (`difference`), measured in the same round; undefined for `median`.
   */
  readonly against?: Side;
  readonly bound: number;
  readonly unit: string;
}
