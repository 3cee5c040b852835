// The findings of `portcullis check`. They may end in a CI log, so they name files, clusters and users, but never a
// token or key.

/** What somebody gains by using it: the rights of others (high), some rights (medium), or a step towards them (low). */
export type Severity = 'high' | 'medium' | 'low';

/** One weak point and its fix. */
export interface Weakness {
  /** Its kind, written like a condition's reason: `InsecureTLS`. `--accept` takes it. */
  readonly name: string;
  readonly severity: Severity;
  /** File, flag, user or cluster. */
  readonly where: string;
  readonly what: string;
  /** What to do, in a sentence. */
  readonly fix: string;
}

/** Something that could not be checked. */
export interface Unread {
  readonly where: string;
  readonly what: string;
}

/** The whole result. */
export interface CheckResult {
  readonly weaknesses: readonly Weakness[];
  readonly unread: readonly Unread[];
}

const order: readonly Severity[] = ['high', 'medium', 'low'];

/** Worst first; within a severity as found. */
export function bySeverity(weaknesses: readonly Weakness[]): readonly Weakness[] {
  return weaknesses.toSorted((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity));
}
