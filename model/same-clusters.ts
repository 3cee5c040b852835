// Finds API servers that are registered twice: by a PediaCluster, which an import policy may have made, and by another
// kind of object. Without this check, the index would hold each of their objects twice. Only registered addresses and
// certificate authorities are compared, never what a cluster answers, since a cluster may claim to be another one.
import type { ClusterSpec } from './records.ts';

/** The name of the source that reads PediaClusters. */
const pediaCluster = 'pediacluster';

/**
 * Sets `sameAs` in every spec whose API server was registered by an earlier spec already.
 * @param named specs by name; specs that get `sameAs` are replaced
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

/**
 * Whether the cluster has an address and the server's certificate is verified. Without verification, an equal address
 * does not prove that two clusters have the same API server.
 */
function isVerified({ endpoint, tls }: ClusterSpec): boolean {
  return endpoint !== undefined && !tls.insecure;
}

/** A key that is equal for specs with the same address, proxy, server name and certificate authority. */
function serverKey({ endpoint, proxy, tls }: ClusterSpec): string {
  return JSON.stringify([endpoint, proxy ?? null, tls.serverName ?? null, tls.ca?.trim() ?? null]);
}

/**
 * Compares two specs for sorting by time of registration, so that nobody can replace a cluster by registering it once
 * more. A spec without that time comes first. Of two specs with the same time, a PediaCluster comes last.
 */
function inOrder(one: ClusterSpec, other: ClusterSpec): number {
  const [a, b] = [one.registeredAt ?? '', other.registeredAt ?? ''];
  return a === b ? Number(isPediaCluster(one)) - Number(isPediaCluster(other)) : a < b ? -1 : 1;
}
