// Keeps the dead read buffers of large answers from piling up. Node allocates one for every TLS record (16 KB); V8
// keeps those that died in the young generation until they are twice its largest size together, 64 MB, and a few lists
// a minute keep it that large for ever. A collection takes a millisecond, so it comes once in megabytes of answers and
// never for small requests.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of answers between two collections. A collection of the young generation takes about a millisecond. */
const defaultEveryBytes = 8 * 1024 * 1024;

/** Collects the young generation. */
export type Collector = () => void;

/**
 * V8's own collector of the whole heap: it stops the process for as long as a large heap takes.
 * @returns undefined where this V8 has none
 */
export function fullCollector(): Collector | undefined {
  return collectorOf('major');
}

/**
 * V8's own collector of the young generation, which a flag makes reachable in a running process. The flags that size
 * that generation are read at start only, and a smaller one would cost every small request.
 * @returns undefined where this V8 has none
 */
export function youngCollector(): Collector | undefined {
  return collectorOf('minor');
}

/**
 * The same as {@link fullCollector}, but nothing is kept for later: the young generation is small again, and empty
 * pages go back to the system. Takes twice as long.
 * @returns undefined where this V8 has none
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
 * Counts bytes of answers that passed, and has what they leave behind collected every `everyBytes`, once the present
 * turn is over.
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
