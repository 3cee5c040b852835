// Waiting for something that happens elsewhere. A deadline is how long a test waits before it fails, not a bound the
// product is held to.
import { setTimeout as delay } from 'node:timers/promises';

/** What is asked again and again: undefined and false mean not yet. */
export type Ask<T> = () => T | undefined | false | Promise<T | undefined | false>;

/** Asks until there is an answer and returns it; what `ask` throws ends it, and so does the test's own time limit. */
export async function waitFor<T>(ask: Ask<T>, everyMs = 20): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    await delay(everyMs);
  }
}

/**
 * Asks until there is an answer and returns it, whatever `ask` throws until then; rejects naming `what` when the time
 * is over.
 */
export async function eventually<T>(
  what: string,
  ask: Ask<T>,
  { timeoutMs = 20_000, everyMs = 20 }: { readonly timeoutMs?: number; readonly everyMs?: number } = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  return await waitFor(async () => {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`, { cause: last });
    return undefined;
  }, everyMs);
}
