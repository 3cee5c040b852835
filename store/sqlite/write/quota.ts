// Decides which types may not grow while the index is near its size limit. Rows are never deleted to make room. A
// stopped type may grow again only when there is clearly room; otherwise it would be started and stopped all the time.

export interface QuotaState {
  /**
   * Bytes used in the database file, without free pages. The write-ahead log, which has a size limit of its own, is not
   * included.
   */
  readonly usedBytes: number;
  readonly maxBytes: number;
  /** Total length of the bodies (stored JSON) of each type. Keys are type numbers. */
  readonly bytesByType: ReadonlyMap<number, number>;
  /** Numbers of the types whose new rows are refused at present. */
  readonly stopped: ReadonlySet<number>;
}

/** Stopped types may grow again when the index uses less than this share of its limit. */
const resumeShare = 0.95;
/**
 * A share of the limit. For each such share by which the index exceeds the limit, one more type is stopped. Deletions,
 * the change log and sync positions of a stopped type are still written.
 */
const stepShare = 0.01;

/**
 * The numbers of the types that may not grow. When the limit is reached, the largest type is stopped, and one more type
 * for each percent above the limit. Below 95% of the limit no type is stopped.
 */
export function stoppedTypes({ usedBytes, maxBytes, bytesByType, stopped }: QuotaState): ReadonlySet<number> {
  if (usedBytes < maxBytes * resumeShare) return stopped.size === 0 ? stopped : new Set();
  if (usedBytes < maxBytes) return stopped;
  const wanted = 1 + Math.floor((usedBytes - maxBytes) / (maxBytes * stepShare));
  if (wanted <= stopped.size) return stopped;
  const largest = [...bytesByType].toSorted(([, one], [, other]) => other - one).map(([type]) => type);
  const next = new Set(stopped);
  for (const type of largest) {
    if (next.size >= wanted) break;
    next.add(type);
  }
  return next;
}
