// Turns whatever a source calls a cluster into a name that fits a path segment, and gives those that lose a collision a
// name of their own. Easy to get wrong: a loser must never take a name that a healthy cluster of the same load asks
// for.

/** Longest cluster name: one DNS label (RFC 1123), since `--cluster-domain` puts it into a host name. */
export const maxClusterNameLength = 63;

/**
 * The name rule for kubeconfig contexts: lower case, runs outside `[a-z0-9-]` become one `-`, trimmed of `-`, cut at 63
 * and trimmed again. Returns '' when nothing is left (a context named `…` or in another script only).
 */
export function clusterName(originalName: string): string {
  const replaced = trimDashes(originalName.toLowerCase().replace(/[^a-z0-9-]+/g, '-'));
  return trimDashes(replaced.slice(0, maxClusterNameLength));
}

/**
 * A name for a cluster that may not have the one it asked for: `<name>-conflict-<n>`, counted from 2, the stem cut so
 * that the whole fits 63 characters; `unnamed-conflict-<n>` when it asked for none. It says at first sight in `kubectl
 * get clusters` what is wrong, and is never routable: its record carries a problem.
 */
export function conflictName(name: string, taken: { has(name: string): boolean }): string {
  for (let count = 2; ; count += 1) {
    const suffix = `-conflict-${count}`;
    const stem = (name === '' ? 'unnamed' : name).slice(0, maxClusterNameLength - suffix.length).replace(/[.-]+$/, '');
    const candidate = `${stem}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}

function trimDashes(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === '-') start += 1;
  while (end > start && text[end - 1] === '-') end -= 1;
  return text.slice(start, end);
}
