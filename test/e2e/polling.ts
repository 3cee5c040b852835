// Waiting for something that another process does, with an end. Easy to get wrong: a deadline is how long a test waits
// before it fails, not a bound the product is held to, unless the row states it.
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks until the answer is there (anything but undefined and false) and returns it; rejects naming `what` when the time
 * is over.
 */
export async function eventually<T>(
  what: string,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  options: { readonly timeoutMs?: number; readonly everyMs?: number } = {},
): Promise<T> {
  const { timeoutMs = 20_000, everyMs = 20 } = options;
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`, { cause: last });
    await delay(everyMs);
  }
}
