// Waits for a promise with a time limit.

/** Waits and returns whether the promise resolved before the timeout. Rejects if the promise rejects before that. */
export async function within(timeoutMs: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), Math.max(0, timeoutMs));
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
