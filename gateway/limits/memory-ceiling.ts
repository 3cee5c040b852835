// Keeps the process from running out of memory. When memory is short, a garbage collection runs first, since part of
// every heap is garbage. If memory is still short, clients that do not read their answers are cut off, beginning with
// those that have been blocked longest. If even that is not enough, new requests are refused.
import { getHeapStatistics } from 'node:v8';
import type { Collector } from '../../routing/buffer-reclaim.ts';

/**
 * Share of the usable memory from which slow clients are cut off. After requests were refused, they are accepted again
 * when the used share falls below this.
 */
const tightShare = 0.75;
/** Share of the usable memory from which new requests are refused. */
const fullShare = 0.85;
/** Bytes of the memory limit that are reserved for memory which is neither heap nor buffers: code, stacks, TLS. */
const reservedBytes = 96 * 1024 ** 2;
const intervalMs = 250;
/**
 * Milliseconds between two garbage collections. The time is long, because a full collection of a large heap stops the
 * process for long.
 */
const collectEveryMs = 30_000;
/**
 * Milliseconds between two garbage collections while new requests are refused. An idle process does not collect garbage
 * by itself, so without these collections it would go on refusing requests because of garbage.
 */
const collectEveryWhileSheddingMs = 5_000;

/** Memory in use, in bytes. */
export interface MemoryReading {
  readonly heapBytes: number;
  /** Buffers and other memory outside the heap that JavaScript objects hold. */
  readonly externalBytes: number;
}

/** Options of {@link startMemoryCeiling}. */
export interface MemoryCeilingOptions {
  /** Bytes of memory that the process may use. */
  readonly limitBytes: number;
  /** The size of the heap, in bytes, at which V8 ends the process. */
  readonly heapLimitBytes?: number;
  readonly read?: () => MemoryReading;
  /** Runs a full garbage collection; undefined when this V8 has no function for it. */
  readonly collect?: Collector | undefined;
  /** Cuts off the clients that have been blocked longest. */
  readonly endSlowest: () => void;
  /** Called with true when new requests must be refused, and with false when they may be accepted again. */
  readonly shed: (shedding: boolean) => void;
  readonly nowMs?: () => number;
}

/** Watches how much memory the process uses. */
export interface MemoryCeiling {
  /** Checks the memory now. The same check also runs by itself four times a second. */
  check(): void;
  readonly shedding: boolean;
  /** Used share of the usable memory at the last check. 1 means all of it; it can be more. */
  readonly share: number;
  readonly usableBytes: number;
  close(): void;
}

/** Starts to watch how much memory the process uses. */
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
  // process.memoryUsage() is not used: it opens a file, and throws when the process has no file descriptor left.
  const { used_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
  return { heapBytes, externalBytes };
}
