// The ends of everything that a gateway has started, in the order in which they are called. A start that fails half-way
// ends what was started so far.

/** Ends of what was begun; the last is called first. */
export type Closers = (() => void)[];

/**
 * Assembles something of parts that each must be ended; when that fails, what was begun is ended at once.
 * @param assemble adds to `closers` whatever it begins; `closeAll` ends all of it, once
 */
export async function assembled<T>(assemble: (closers: Closers, closeAll: () => void) => Promise<T>): Promise<T> {
  const closers: Closers = [];
  const closeAll = (): void => {
    for (const close of closers.splice(0).toReversed()) close();
  };
  try {
    return await assemble(closers, closeAll);
  } catch (error) {
    closeAll();
    throw error;
  }
}
