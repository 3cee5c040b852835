// Frees the read buffers of large answers early. Node allocates a buffer of 16 KB for every TLS record. V8 collects
// unused buffers in its young generation only when they reach twice the largest size of that generation, 64 MB, and a
// few large answers a minute are enough to keep the memory that high. So after every few megabytes of answers a garbage
// collection is started, which takes about a millisecond. Small requests never start one.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** After this many bytes of answers, a garbage collection of the young generation is started. */
const defaultEveryBytes = 8 * 1024 * 1024;

/** Starts a garbage collection and returns when it is done. */
export type Collector = () => void;

/**
 * Makes a collector for the whole heap. A collection stops the process while it runs, longer for a larger heap.
 * @returns undefined when this version of V8 does not offer it
 */
export function fullCollector(): Collector | undefined {
  return collectorOf('major');
}

/**
 * Makes a collector for the young generation only. V8 offers it when a flag is set, which is possible in a running
 * process. A smaller young generation would help too, but its size can only be set at start and would slow down every
 * small request.
 * @returns undefined when this version of V8 does not offer it
 */
export function youngCollector(): Collector | undefined {
  return collectorOf('minor');
}

/**
 * As {@link fullCollector}, but a collection also shrinks the young generation and returns empty pages to the operating
 * system, and takes about twice as long.
 * @returns undefined when this version of V8 does not offer it
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
 * Returns a function to be called with the bytes of each chunk of an answer. After every `everyBytes` it calls
 * `collect`, once the current turn of the event loop is over.
 * @param collect undefined: nothing is ever collected
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
