// Sheds load before the process dies of memory: first the clients that do not take their answers are cut off, the
// longest blocked first, then new requests are refused. Easy to get wrong: a heap holds garbage until somebody collects
// it, so a collection comes before any client is cut.
import { getHeapStatistics } from 'node:v8';
import type { Collector } from '../../routing/buffer-reclaim.ts';

/** Share of what may be used from which slow clients are cut off; below it requests are taken again. */
const tightShare = 0.75;
/** Share from which new requests are refused. */
const fullShare = 0.85;
/** Of the limit, for what is neither heap nor buffers: code, stacks, TLS. */
const reservedBytes = 96 * 1024 ** 2;
const intervalMs = 250;
/** A full collection stops the process for as long as a large heap takes. */
const collectEveryMs = 30_000;
/** While requests are refused: an idle process collects nothing by itself, and would refuse for no reason. */
const collectEveryWhileSheddingMs = 5_000;

/** Bytes in use. */
export interface MemoryReading {
  readonly heapBytes: number;
  /** Buffers and other memory outside the heap that objects hold. */
  readonly externalBytes: number;
}

/** What the ceiling depends on. */
export interface MemoryCeilingOptions {
  /** Bytes the process may have. */
  readonly limitBytes: number;
  /** Bytes V8 lets the heap grow to before it ends the process. */
  readonly heapLimitBytes?: number;
  readonly read?: () => MemoryReading;
  /** A full collection; absent where this V8 has none. */
  readonly collect?: Collector | undefined;
  /** Ends the clients that are blocked longest. */
  readonly endSlowest: () => void;
  /** Refuse new requests from now on, or no longer. */
  readonly shed: (shedding: boolean) => void;
  readonly nowMs?: () => number;
}

/** The ceiling of one process. */
export interface MemoryCeiling {
  /** Looks now; runs by itself four times a second. */
  check(): void;
  readonly shedding: boolean;
  /** Used part of what may be used, 0 to 1 and more, when it was last looked at. */
  readonly share: number;
  readonly usableBytes: number;
  close(): void;
}

/** Starts the clock. */
export function startMemoryCeiling(options: MemoryCeilingOptions): MemoryCeiling {
  const { limitBytes, collect, endSlowest, shed } = options;
  const { heapLimitBytes = getHeapStatistics().heap_size_limit, read = readProcess } = options;
  const { nowMs = () => performance.now() } = options;
  const usableBytes = Math.max(limitBytes - reservedBytes, limitBytes / 2);
  let shedding = false;
  let share = 0;
  let collectedAtMs = -Infinity;

  const measure = (): number => {
    const { heapBytes, externalBytes } = read();
    return Math.max((heapBytes + externalBytes) / usableBytes, heapBytes / heapLimitBytes);
  };
  const betweenCollectionsMs = (): number => (shedding ? collectEveryWhileSheddingMs : collectEveryMs);
  const check = (): void => {
    share = measure();
    if (share >= tightShare && collect !== undefined && nowMs() - collectedAtMs >= betweenCollectionsMs()) {
      collectedAtMs = nowMs();
      collect();
      share = measure();
    }
    if (share >= tightShare) endSlowest();
    const before = shedding;
    shedding = share >= (before ? tightShare : fullShare);
    if (shedding !== before) shed(shedding);
  };
  const timer = setInterval(check, intervalMs).unref();
  return {
    check,
    get shedding() {
      return shedding;
    },
    get share() {
      return share;
    },
    usableBytes,
    close: () => clearInterval(timer),
  };
}

function readProcess(): MemoryReading {
  // Not process.memoryUsage(): it opens a file for the resident size, and throws where no descriptor is left.
  const { used_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
  return { heapBytes, externalBytes };
}
