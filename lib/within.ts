// Waits for a promise with a time limit.

/** Whether the promise resolved before the timeout. */
export async function within(timeoutMs: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), Math.max(0, timeoutMs));
  const inTime = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}
