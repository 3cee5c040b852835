// Which types may still grow when the index nears its size limit. Easy to get wrong: nothing is evicted, so a type that
// was stopped stays stopped until there is clearly room again; else it would start and stop at every deletion.

export interface QuotaState {
  /** In use in the file, free pages not counted; the log beside it is bounded and comes on top. */
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
 * With each such share above the limit one more type stops; the rest is for deletions, the log of changes and
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
