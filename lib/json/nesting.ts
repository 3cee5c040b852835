// Limits the nesting of JSON from outside. Recursive functions, JSON.stringify and structured clone (postMessage)
// overflow the stack at some thousand levels.

/**
 * Maximum number of levels of objects and lists in an object that is hashed, compared or merged. kube-apiserver reads
 * 10,000; the deepest objects in use, schemas in CustomResourceDefinitions, have less than a hundred.
 */
export const mostLevels = 500;

/** Whether a value has more than {@link mostLevels} levels of objects and lists. Does not call itself. */
export function isTooDeep(value: unknown): boolean {
  let level = containersIn([value]);
  for (let depth = 0; depth < mostLevels && level.length > 0; depth += 1)
    level = level.flatMap((each) => containersIn(Object.values(each)));
  return level.length > 0;
}

function containersIn(values: readonly unknown[]): readonly object[] {
  return values.filter((each) => typeof each === 'object' && each !== null);
}
