// Makes valid cluster names from the names in a source. Different original names can give the same valid name, so a
// name that had to be changed comes with a second name that contains a digest of the original and is unique.
// name-claims.ts decides which of the two a cluster gets.
import { createHash } from 'node:crypto';
import type { ClusterSpec } from './records.ts';

/**
 * Longest cluster name, in characters: one DNS label (RFC 1123), since with `--cluster-domain` the name is a label of a
 * host name.
 */
export const maxClusterNameLength = 63;

/** Characters of the digest in a name: 36^10 is about 2^51. */
const digestLength = 10;

/**
 * The names that a cluster asks for. A valid name is used as it stands. For any other name, `name` is the result of
 * {@link clusterName}, and `digestName` is this result followed by a digest of the original name. When no ASCII letter
 * or digit is left, as for `生产`, the only name is `cluster-<digest>`. An empty or blank name gives no name.
 * @param isValid whether a name may be used as it stands
 */
export function clusterNames(
  originalName: string,
  isValid: (name: string) => boolean,
): Pick<ClusterSpec, 'name' | 'digestName'> {
  if (isValid(originalName)) return { name: originalName };
  if (originalName.trim() === '') return { name: '' };
  const name = clusterName(originalName);
  const stem = trimDashes(name.slice(0, maxClusterNameLength - digestLength - 1));
  return { name, digestName: `${stem === '' ? 'cluster' : stem}-${digestOf(originalName)}` };
}

/**
 * Makes a cluster name from any other name: in lower case, each run of other characters than
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

function digestOf(originalName: string): string {
  // JSON.stringify escapes lone surrogates, so that different names have different digests. UTF-8 would encode all lone
  // surrogates as the same replacement character.
  const hex = createHash('sha256').update(JSON.stringify(originalName)).digest('hex');
  return BigInt(`0x${hex}`).toString(36).slice(-digestLength).padStart(digestLength, '0');
}

function trimDashes(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === '-') start += 1;
  while (end > start && text[end - 1] === '-') end -= 1;
  return text.slice(start, end);
}
