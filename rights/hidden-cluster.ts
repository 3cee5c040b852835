// Clusters that a caller may reach, but of which nothing is shown, and why.
import type { ClusterRecord } from '../model/records.ts';
import { mostNames } from '../query/scope/grants.ts';

/** A cluster that the caller may reach, but whose rows are missing from the answer, all or some of them. */
export interface HiddenCluster {
  readonly cluster: string;
  /**
   * `RightsStale`: the copy of the cluster's RBAC was last confirmed too long ago. `RightsUnknown`: the cluster's RBAC
   * has not been read completely yet, or the cluster did not answer an access review. `IdentityRefused`: the gateway's
   * rules do not let it send requests with this identity to the cluster. `RightsTooMany`: roles name so many single
   * objects that some of them are left out; the other rows are shown.
   */
  readonly reason: 'RightsStale' | 'RightsUnknown' | 'IdentityRefused' | 'RightsTooMany';
  /** Text for the caller: which cluster is hidden and why. */
  readonly message: string;
}

/** Makes the entry for a hidden cluster. @param why a clause with the reason, which ends the message to the caller */
export function hide({ spec: { name } }: ClusterRecord, reason: HiddenCluster['reason'], why: string): HiddenCluster {
  return { cluster: name, reason, message: `nothing of cluster ${JSON.stringify(name)} is shown: ${why}` };
}

/** Makes the entry for a cluster of which single objects are left out, since too many are allowed one by one. */
export function leftOutNames({ spec: { name } }: ClusterRecord): HiddenCluster {
  const why = `roles allow you too many single objects by name (resourceNames), more than ${mostNames}`;
  const message = `some objects of cluster ${JSON.stringify(name)} are not shown: ${why}`;
  return { cluster: name, reason: 'RightsTooMany', message };
}

/**
 * When a cluster's RBAC or its rows were last known to be up to date, and how old that knowledge may be. All numbers
 * are milliseconds; `confirmedAtMs` and `nowMs` are Unix times.
 */
export interface Confirmation {
  /** 0 when the RBAC or the rows were never read. */
  readonly confirmedAtMs: number;
  readonly nowMs: number;
  readonly maxAgeMs: number;
}

/**
 * Hides a cluster whose RBAC or rows were last known to be up to date too long ago; otherwise returns undefined.
 * @param what the words for these data in the message, such as `rows`
 */
export function hiddenByAge(
  record: ClusterRecord,
  what: string,
  { confirmedAtMs, nowMs, maxAgeMs }: Confirmation,
): HiddenCluster | undefined {
  if (confirmedAtMs === 0) return hide(record, 'RightsUnknown', `its ${what} have not been read yet`);
  const ageMs = nowMs - confirmedAtMs;
  return Math.abs(ageMs) > maxAgeMs ? hide(record, 'RightsStale', staleText(what, ageMs, maxAgeMs)) : undefined;
}

function staleText(what: string, ageMs: number, maxAgeMs: number): string {
  const age = ageMs < 0 ? 'in the future by the clock of this gateway' : `${spanText(ageMs)} ago`;
  return `its ${what} were last confirmed ${age}, and they count for ${spanText(maxAgeMs)} (--index-rights-max-age)`;
}

/** A duration as text for a message, such as `90s`, `12m` or `3h`. */
function spanText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds / 3600)}h`;
}
