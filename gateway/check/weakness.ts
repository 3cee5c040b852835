// What `portcullis check` finds. Easy to get wrong: a text is printed as it is and may end in a CI log, so it names
// files, clusters and users, never a token or key.

/** How much is lost when somebody uses it: others' rights, some rights, or a step on the way there. */
export type Severity = 'high' | 'medium' | 'low';

/** One weak point with its remedy. */
export interface Weakness {
  /** What kind it is, in the form of condition reasons: `InsecureTLS`. What `--accept` takes. */
  readonly name: string;
  readonly severity: Severity;
  /** File, flag, user or cluster. */
  readonly where: string;
  readonly what: string;
  /** What to do, a sentence. */
  readonly fix: string;
}

/** Something that could not be looked at, so that nothing can be said about it. */
export interface Unread {
  readonly where: string;
  readonly what: string;
}

/** All of it. */
export interface CheckResult {
  readonly weaknesses: readonly Weakness[];
  readonly unread: readonly Unread[];
}

const order: readonly Severity[] = ['high', 'medium', 'low'];

/** Worst first; within that as found. */
export function bySeverity(weaknesses: readonly Weakness[]): readonly Weakness[] {
  return weaknesses.toSorted((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity));
}
