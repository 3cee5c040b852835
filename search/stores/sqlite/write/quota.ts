// Which types may still grow when the index nears its size limit. Nothing is evicted: a stopped type starts again only
// when there is clearly room, or it would start and stop at every deletion.

export interface QuotaState {
  /** Used in the file, without free pages; the write-ahead log comes on top and is bounded. */
  readonly usedBytes: number;
  readonly maxBytes: number;
  /** Bodies by number of the type. */
  readonly bytesByType: ReadonlyMap<number, number>;
  /** What was stopped until now. */
  readonly stopped: ReadonlySet<number>;
}

/** Room that must be free before anything starts again. */
const resumeShare = 0.95;
/**
 * One more type stops with each such share above the limit; the rest is for deletions, the log of changes and
 * positions.
 */
const stepShare = 0.01;

/**
 * The types that are refused: from the limit on the largest, one more with every percent above it; none once there is
 * room again.
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
