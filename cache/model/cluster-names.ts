// Makes valid cluster names from the names in a source. A cluster whose name is already taken gets another name, which
// no other cluster has or asks for.

/** Longest cluster name, in characters: one DNS label (RFC 1123), since `--cluster-domain` uses it in host names. */
export const maxClusterNameLength = 63;

/**
 * Makes a cluster name from the name of a kubeconfig context: in lower case, each run of other characters than
 * `[a-z0-9-]` becomes one `-`, at most 63 characters, no `-` at the ends. Returns '' when nothing is left, as for a
 * name entirely in another script.
 */
export function clusterName(originalName: string): string {
  const replaced = trimDashes(originalName.toLowerCase().replace(/[^a-z0-9-]+/g, '-'));
  return trimDashes(replaced.slice(0, maxClusterNameLength));
}

/**
 * A free name for a cluster whose own name is taken: `<name>-conflict-<n>` with n from 2, shortened to at most 63
 * characters; `unnamed-conflict-<n>` when it has no name. The cluster is listed under this name, so that `kubectl get
 * clusters` shows the problem, but gets no requests.
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
