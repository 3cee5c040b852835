// Finds clusters that are registered twice: by a PediaCluster, which an import policy may have made, and by another
// kind of object. Both are one API server, and the index would hold each of its objects twice. Only what is registered
// is compared, never what a cluster says of itself, since a cluster may claim to be another one.
import type { ClusterSpec } from './records.ts';

const pediaCluster = 'pediacluster';

/**
 * Says in the specs that come later that they are the same cluster as one that was registered before.
 * @param named specs by name; those that are the same as others are replaced
 */
export function markSameClusters(named: Map<string, ClusterSpec>): void {
  const specs = [...named.values()];
  if (!specs.some(isPediaCluster) || specs.every(isPediaCluster)) return;
  for (const group of Map.groupBy(specs.filter(isVerified), serverKey).values()) {
    const [first, ...later] = group.toSorted(inOrder);
    if (later.length === 0 || first === undefined) continue;
    const { name, labels, sourceDetail } = first;
    for (const spec of later) {
      if (spec.source === first.source || (!isPediaCluster(spec) && !isPediaCluster(first))) continue;
      named.set(spec.name, { ...spec, sameAs: { name, labels, sourceDetail } });
    }
  }
}

function isPediaCluster({ source }: ClusterSpec): boolean {
  return source === pediaCluster;
}

/** An address is no proof of who answers there where nothing is verified. */
function isVerified({ endpoint, tls }: ClusterSpec): boolean {
  return endpoint !== undefined && !tls.insecure;
}

/** Equal for the same address that is reached the same way and verified by the same authority. */
function serverKey({ endpoint, proxy, tls }: ClusterSpec): string {
  return JSON.stringify([endpoint, proxy ?? null, tls.serverName ?? null, tls.ca?.trim() ?? null]);
}

/** By age, so that nobody takes a cluster's place by registering it once more. */
function inOrder(one: ClusterSpec, other: ClusterSpec): number {
  const [a, b] = [one.registeredAt ?? '', other.registeredAt ?? ''];
  return a === b ? Number(isPediaCluster(one)) - Number(isPediaCluster(other)) : a < b ? -1 : 1;
}
