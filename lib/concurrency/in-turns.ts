// Processes a list of items with limited concurrency.

/**
 * Runs `work` for each item, for at most `atOnce` items at the same time. Resolves with the results in the order of the
 * items; rejects with the first error, and begins no further item then.
 */
export async function inTurns<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => R | Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const turn = async (): Promise<void> => {
    try {
      for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!);
    } catch (error) {
      next = items.length;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, turn));
  return results;
}
