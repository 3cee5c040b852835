// Gives heap memory that V8 no longer needs back to the system. Large lists and many handshakes leave a young
// generation at its largest size and half-empty pages. V8 keeps them as long as anything allocates, and probes always
// do (100 MB with 2,000 clusters, measured). The collection stops the process for about 2 ms per megabyte in use, so it
// runs seldom: only while the process is nearly idle and when much memory can be won.
import { getHeapStatistics } from 'node:v8';
import type { Collector } from '../../routing/buffer-reclaim.ts';

/** Between two checks. */
const lookEveryMs = 2_000;
/** Share of a core below which the process is resting. Probes of thousands of clusters take a tenth. */
const restingShare = 0.25;
/** So many checks in a row must find it resting, since a starting process rests too while it waits for its hub. */
const restingLooks = 5;
const collectEveryMs = 5 * 60_000;
/** The heap of a gateway with few clusters. */
const smallHeapBytes = 48 * 1024 ** 2;
/** A collection is worth it when the heap is this much larger than 1.5 times what the last one left. */
const worthBytes = 24 * 1024 ** 2;

/** What the collection depends on. */
export interface HeapReturnOptions {
  /** Collects everything and shrinks the heap; absent where this V8 cannot. */
  readonly collect: Collector | undefined;
  /** Bytes of the heap, used or not. */
  readonly heapBytes?: () => number;
  /** Cores used since the last call. */
  readonly busyShare?: () => number;
  /** True when nobody waits for an answer. */
  readonly isIdle: () => boolean;
  readonly nowMs?: () => number;
}

/** Checks from time to time until it is closed. */
export interface HeapReturn {
  /** Checks now; runs by itself every two seconds. */
  check(): void;
  close(): void;
}

/** Starts the checks. */
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

/** Measures CPU time. On a busy machine, event loop utilization counts the wait for a core as work. */
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
