// Runs the cleanup of everything that a gateway has started, in reverse order. When the start fails half-way, the parts
// started so far are cleaned up.

/** Functions that stop what has been started; they are called from the last to the first. */
export type Closers = (() => void)[];

/**
 * Runs `assemble`; when that rejects, everything it has started is stopped.
 * @param assemble adds a function to `closers` for each thing it starts; its argument `closeAll` calls all of them,
 * once
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
