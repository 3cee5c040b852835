// Frees the read buffers of large answers early. Node allocates a buffer for every TLS record (16 KB). V8 collects dead
// buffers in its young generation only when they reach twice the largest size of that generation, 64 MB, and a few
// large answers a minute are enough to keep the memory that high. So after every few megabytes of answers a collection
// is started, which takes about a millisecond. Small requests never trigger one.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of answers after which a collection of the young generation is started. */
const defaultEveryBytes = 8 * 1024 * 1024;

/** Starts a garbage collection and returns when it is done. */
export type Collector = () => void;

/**
 * A collector for the whole heap. It stops the process for as long as that takes, longer for a larger heap.
 * @returns undefined when this version of V8 has none
 */
export function fullCollector(): Collector | undefined {
  return collectorOf('major');
}

/**
 * A collector for the young generation only. V8 makes it available through a flag that can be set in a running process.
 * The flags for the size of the young generation can only be set at start, and a smaller size would slow down every
 * small request.
 * @returns undefined when this version of V8 has none
 */
export function youngCollector(): Collector | undefined {
  return collectorOf('minor');
}

/**
 * As {@link fullCollector}, but it also shrinks the young generation and returns empty pages to the system. It takes
 * about twice as long.
 * @returns undefined when this version of V8 has none
 */
export function shrinkingCollector(): Collector | undefined {
  return collectorOf('major', 'last-resort');
}

function collectorOf(type: 'minor' | 'major', flavor: 'regular' | 'last-resort' = 'regular'): Collector | undefined {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect !== 'function') return undefined;
  return () => void collect({ type, flavor });
}

/**
 * Counts bytes of answers, and calls `collect` after every `everyBytes`, once the current turn of the event loop is
 * over.
 * @param collect undefined disables it
 */
export function makeBufferReclaim(
  collect: Collector | undefined,
  everyBytes: number = defaultEveryBytes,
): (bytes: number) => void {
  let passed = 0;
  let due = false;
  return (bytes) => {
    passed += bytes;
    if (passed < everyBytes || due || collect === undefined) return;
    due = true;
    setImmediate(() => {
      due = false;
      passed = 0;
      collect();
    });
  };
}
