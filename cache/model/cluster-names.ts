// Makes valid cluster names from the names in a source. A cluster whose name is already taken by another gets a name
// that no cluster has and no source gives.

/**
 * Longest cluster name, in characters: one DNS label (RFC 1123), since with `--cluster-domain` the name is a label of a
 * host name.
 */
export const maxClusterNameLength = 63;

/**
 * Makes a cluster name from the name of a kubeconfig context: in lower case, each run of other characters than
 * `[a-z0-9-]` becomes one `-`, at most 63 characters, no `-` at the ends. Returns '' when nothing is left, as for a
 * name without any Latin letter or digit.
 */
export function clusterName(originalName: string): string {
  const replaced = trimDashes(originalName.toLowerCase().replace(/[^a-z0-9-]+/g, '-'));
  return trimDashes(replaced.slice(0, maxClusterNameLength));
}

/**
 * A free name for a cluster whose own name is taken: `<name>-conflict-<n>` with n from 2, shortened to at most 63
 * characters; `unnamed-conflict-<n>` when it has no name. `kubectl get clusters` lists the cluster under this name, so
 * that the problem is seen, but the gateway sends it no requests.
 * @param taken all names in use
 */
export function conflictName(name: string, taken: { has(name: string): boolean }): string {
  for (let count = 2; ; count += 1) {
    const suffix = `-conflict-${count}`;
    const stem = (name === '' ? 'unnamed' : name).slice(0, maxClusterNameLength - suffix.length).replace(/[.-]+$/, '');
    const candidate = `${stem}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}

/** Whether a name is a DNS subdomain (RFC 1123) of at most 253 characters, as names of Kubernetes objects are. */
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
