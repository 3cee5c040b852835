// Runs the functions that stop what a gateway has started, in reverse order. When the start fails half-way, the parts
// that were started before are stopped.

/** Functions that stop what has been started; they are called from the last to the first. */
export type Closers = (() => void)[];

/**
 * Runs `assemble`; when its promise rejects, everything that it has started is stopped.
 * @param assemble adds a function to `closers` for each part that it starts; its argument `closeAll` calls all of these
 * functions, once
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
