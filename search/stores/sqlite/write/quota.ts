// Decides which types may not grow while the index is near its size limit. Nothing is evicted. A stopped type may grow
// again only when there is clearly room, otherwise it would start and stop with every deletion.

export interface QuotaState {
  /**
   * Bytes used in the database file, without free pages. The write-ahead log is not included; its size is limited too.
   */
  readonly usedBytes: number;
  readonly maxBytes: number;
  /** Total bytes of the bodies of each type. Keys are type numbers. */
  readonly bytesByType: ReadonlyMap<number, number>;
  /** Numbers of the types that are stopped now. */
  readonly stopped: ReadonlySet<number>;
}

/** Stopped types may grow again when less than this share of the limit is used. */
const resumeShare = 0.95;
/**
 * For each such share of the limit that is used beyond the limit, one more type is stopped. Deletions, the change log
 * and sync positions may still be written.
 */
const stepShare = 0.01;

/**
 * The numbers of the types that may not grow. Above the limit the largest type is stopped, and one more for each
 * percent above it. Below 95% of the limit none is.
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
