// Gives memory back that V8 keeps for nothing. Lists of thousands of objects and as many handshakes leave a young
// generation grown to its largest size and half-empty pages, and V8 holds them for as long as anything allocates, which
// probes always do (100 MB with 2,000 clusters, measured). Easy to get wrong: such a collection stops the process (some
// 2 ms for each megabyte that is used): only while next to nothing is done, when much is to be had, and seldom.
import { getHeapStatistics } from 'node:v8';
import type { Collector } from '../../routing/buffer-reclaim.ts';

/** Between two looks; what the process did meanwhile decides. */
const lookEveryMs = 2_000;
/** Share of a core below which the process rests: probes of thousands of clusters take a tenth. */
const restingShare = 0.25;
/** So many looks in a row must find it at rest: a start that waits for its hub rests in between. */
const restingLooks = 5;
const collectEveryMs = 5 * 60_000;
/** The heap of a gateway that knows few clusters. */
const smallHeapBytes = 48 * 1024 ** 2;
/** Beyond half as much again as was left last time, this much more must be there. */
const worthBytes = 24 * 1024 ** 2;

/** What it depends on. */
export interface HeapReturnOptions {
  /** Collects everything and shrinks the heap; absent where this V8 cannot. */
  readonly collect: Collector | undefined;
  /** Bytes of the heap, used or not. */
  readonly heapBytes?: () => number;
  /** Cores used since it was asked last. */
  readonly busyShare?: () => number;
  /** Nobody waits for an answer now. */
  readonly isIdle: () => boolean;
  readonly nowMs?: () => number;
}

/** Looks now and then until it is closed. */
export interface HeapReturn {
  /** Looks now; runs by itself every two seconds. */
  check(): void;
  close(): void;
}

/** Starts the clock. */
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

/** By CPU time: on a machine where others take turns, a process that waits for its own looks busy to the event loop. */
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
