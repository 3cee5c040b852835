// Turns a source's name for a cluster into one that fits a path segment, and names the clusters that lose a collision.
// Such a name is never one that a healthy cluster of the same load asks for.

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
 * A name for a cluster that cannot have the one it asked for: `<name>-conflict-<n>`, counted from 2, cut so that the
 * whole fits 63 characters; `unnamed-conflict-<n>` when it asked for none. `kubectl get clusters` then shows what is
 * wrong. The cluster gets no requests, since its record carries a problem.
 */
export function conflictName(name: string, taken: { has(name: string): boolean }): string {
  for (let count = 2; ; count += 1) {
    const suffix = `-conflict-${count}`;
    const stem = (name === '' ? 'unnamed' : name).slice(0, maxClusterNameLength - suffix.length).replace(/[.-]+$/, '');
    const candidate = `${stem}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}

/** Whether it is a DNS subdomain (RFC 1123) of at most 253 characters, as names of hub objects are. */
export function isSubdomain(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/.test(name);
}

function trimDashes(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === '-') start += 1;
  while (end > start && text[end - 1] === '-') end -= 1;
  return text.slice(start, end);
}
