// Sheds load before the process runs out of memory. First it cuts off clients that do not take their answers, the
// longest blocked first; then it refuses new requests. Part of a heap is always garbage, so a collection runs before
// any client is cut off.
import { getHeapStatistics } from 'node:v8';
import type { Collector } from '../../routing/buffer-reclaim.ts';

/** Share of the usable memory from which slow clients are cut off; below it new requests are taken again. */
const tightShare = 0.75;
/** Share of the usable memory from which new requests are refused. */
const fullShare = 0.85;
/** Part of the limit reserved for what is neither heap nor buffers: code, stacks, TLS. */
const reservedBytes = 96 * 1024 ** 2;
const intervalMs = 250;
/** A full collection of a large heap stops the process for long. */
const collectEveryMs = 30_000;
/**
 * The time between two collections while new requests are refused. An idle process does not collect by itself. Without
 * these collections it would go on refusing because of garbage.
 */
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
  /** Called when new requests must be refused, and when they may be taken again. */
  readonly shed: (shedding: boolean) => void;
  readonly nowMs?: () => number;
}

/** The ceiling of one process. */
export interface MemoryCeiling {
  /** Checks now; runs by itself four times a second. */
  check(): void;
  readonly shedding: boolean;
  /** Used share of the usable memory at the last check; 1 is all of it, and it may be more. */
  readonly share: number;
  readonly usableBytes: number;
  close(): void;
}

/** Starts the checks. */
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
  // process.memoryUsage() opens a file for the resident size and throws when no descriptor is left.
  const { used_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
  return { heapBytes, externalBytes };
}
