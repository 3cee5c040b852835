// Runs a full garbage collection now and then, so that V8 gives unused memory back to the system. After large lists or
// many TLS handshakes, V8 keeps half-empty pages as long as the process allocates anything, and the probes of clusters
// always allocate (100 MB stayed in use with 2,000 clusters, measured). A full collection stops the process for about 2
// ms per megabyte in use, so it runs only while the process is nearly idle and much memory can be freed.
import { getHeapStatistics } from 'node:v8';
import type { Collector } from '../../routing/buffer-reclaim.ts';

/** Milliseconds between two checks whether to collect garbage. */
const lookEveryMs = 2_000;
/**
 * A process that uses less than this share of one CPU core counts as nearly idle. Probing thousands of clusters takes
 * about a tenth of a core.
 */
const restingShare = 0.25;
/**
 * A collection runs only after this many checks in a row have found the process nearly idle. One check is not enough: a
 * process that is starting is idle while it waits for the hub.
 */
const restingLooks = 5;
const collectEveryMs = 5 * 60_000;
/**
 * Size of the heap, in bytes, of a gateway with few clusters; a heap that is smaller after a collection counts as this
 * large.
 */
const smallHeapBytes = 48 * 1024 ** 2;
/**
 * A collection runs only when the heap is larger than 1.5 times the heap after the last collection plus this many
 * bytes.
 */
const worthBytes = 24 * 1024 ** 2;

/** Options of {@link startHeapReturn}. */
export interface HeapReturnOptions {
  /** Runs a full garbage collection and shrinks the heap; undefined when this V8 has no function for it. */
  readonly collect: Collector | undefined;
  /** Total size of the heap in bytes, used or not. */
  readonly heapBytes?: () => number;
  /** CPU cores used since the last call; 1 is one core. */
  readonly busyShare?: () => number;
  /** True when no client waits for an answer. */
  readonly isIdle: () => boolean;
  readonly nowMs?: () => number;
}

/** Checks regularly whether a full garbage collection is worthwhile. */
export interface HeapReturn {
  /** Checks now whether to collect garbage. The same check also runs by itself every two seconds. */
  check(): void;
  close(): void;
}

/** Starts to check regularly whether a full garbage collection is worthwhile. */
export function startHeapReturn(options: HeapReturnOptions): HeapReturn {
  const { collect, isIdle, heapBytes = () => getHeapStatistics().total_heap_size } = options;
  const { busyShare = makeBusyShare(), nowMs = () => performance.now() } = options;
  let leftBytes = smallHeapBytes;
  let collectedAtMs = -Infinity;
  let rested = 0;
  const check = (): void => {
    rested = busyShare() < restingShare ? rested + 1 : 0;
    if (collect === undefined || rested < restingLooks || !isIdle()) return;
    if (nowMs() - collectedAtMs < collectEveryMs || heapBytes() < leftBytes * 1.5 + worthBytes) return;
    collect();
    collectedAtMs = nowMs();
    leftBytes = Math.max(smallHeapBytes, heapBytes());
  };
  const timer = setInterval(check, lookEveryMs).unref();
  return { check, close: () => clearInterval(timer) };
}

/**
 * Makes a function that returns the CPU cores used since its last call. Event loop utilization is not used for this: on
 * a busy machine it counts the time of waiting for a core as work.
 */
function makeBusyShare(): () => number {
  let cpu = process.cpuUsage();
  let atMs = performance.now();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    const spentMs = (user + system) / 1000;
    const passedMs = Math.max(1, performance.now() - atMs);
    cpu = process.cpuUsage();
    atMs = performance.now();
    return spentMs / passedMs;
  };
}
