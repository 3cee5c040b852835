// Types for the findings of `portcullis check`. Findings may end up in the log of a CI system, so they name files,
// clusters and users, but never contain a token or key.

/** Options of `portcullis check`. */
export interface CheckOptions {
  /** True to read files only: no cluster and no hub is asked, and no exec plugin is run. */
  readonly offline: boolean;
  readonly nowMs: number;
  readonly version: string;
}

/**
 * How much a weakness gives away: the rights of other users (high), some rights (medium), or a step towards rights
 * (low).
 */
export type Severity = 'high' | 'medium' | 'low';

/** Something that makes the gateway or a cluster easier to attack, and how to fix it. */
export interface Weakness {
  /**
   * Kind of weakness in CamelCase, for example `InsecureTLS`. The flag `--accept` of `portcullis check` takes these
   * names.
   */
  readonly name: string;
  readonly severity: Severity;
  /** The file, flag, user or cluster that is weak. */
  readonly where: string;
  readonly what: string;
  /** How to fix the weakness, in a sentence. */
  readonly fix: string;
}

/** Something that could not be checked (`where`), and why (`what`). */
export interface Unread {
  readonly where: string;
  readonly what: string;
}

/** The result of one or several checks. */
export interface CheckResult {
  readonly weaknesses: readonly Weakness[];
  readonly unread: readonly Unread[];
}

const order: readonly Severity[] = ['high', 'medium', 'low'];

/** The weaknesses sorted by severity, the worst first; equal ones keep their order. */
export function bySeverity(weaknesses: readonly Weakness[]): readonly Weakness[] {
  return weaknesses.toSorted((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity));
}
