// What a published bound is judged by.

/** A value of one lane in every round of a scenario. */
export interface Side {
  readonly lane: string;
  readonly value: string;
}

/** An upper bound. */
export interface Check {
  readonly says: string;
  readonly scenario: string;
  readonly kind: 'ratio' | 'difference' | 'median';
  readonly of: Side;
  /** Denominator or subtrahend, paired by round; absent for a median. */
  readonly against?: Side;
  readonly bound: number;
  readonly unit: string;
}
