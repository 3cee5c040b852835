// Defaults of Services, and allocation of cluster IPs and node ports. When an update has no cluster IP or node ports,
// the Service keeps its present ones.
import type { Cluster } from '../call/cluster.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import type { Defaulter } from './defaulter.ts';
import { fill } from './pods.ts';

/** Fills in the defaults of a Service. On update, it keeps the Service's cluster IP and node ports. */
export const fillService: Defaulter = (object, cluster, current) => {
  const spec: JsonObject = (object['spec'] ??= {});
  fill(spec, { type: 'ClusterIP', sessionAffinity: 'None' });
  for (const port of spec['ports'] ?? []) {
    fill(port, { protocol: 'TCP', targetPort: port['port'] });
    if (port['nodePort'] === 0) delete port['nodePort'];
  }
  if (spec['type'] !== 'ExternalName') fill(spec, { internalTrafficPolicy: 'Cluster' });
  if (isExternal(spec)) fill(spec, { externalTrafficPolicy: 'Cluster' });
  if (spec['type'] === 'LoadBalancer') fill(spec, { allocateLoadBalancerNodePorts: true });
  if (current !== undefined) allocate(object, cluster, current['spec'] ?? {});
};

function isExternal(spec: JsonObject): boolean {
  return spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer';
}

/**
 * Allocates a cluster IP and node ports where the spec has none. Those in `before`, the spec before an update, are
 * kept.
 */
export function allocate(object: KubeObject, cluster: Cluster, before: JsonObject = {}): void {
  const spec: JsonObject = object['spec'];
  if (spec['type'] === 'ExternalName') return;
  fill(spec, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
  const keepsAddress = before['type'] !== 'ExternalName' && before['clusterIP'] !== undefined;
  if (!spec['clusterIP']) spec['clusterIP'] = keepsAddress ? before['clusterIP'] : freeAddress(cluster);
  fill(spec, { clusterIPs: [spec['clusterIP']] });
  if (!isExternal(spec)) return;
  for (const port of spec['ports'] ?? []) {
    const old = ((before['ports'] ?? []) as JsonObject[]).find((entry) => entry['port'] === port['port']);
    fill(port, { nodePort: old?.['nodePort'] ?? freeNodePort(cluster, spec) });
  }
}

function services(cluster: Cluster): readonly KubeObject[] {
  return cluster.store.list('/services');
}

function freeAddress(cluster: Cluster): string {
  const used = new Set(services(cluster).map((service) => service['spec']?.clusterIP));
  for (let n = 257; ; n++) {
    const address = `10.96.${(n >> 8) & 255}.${n & 255}`;
    if (!used.has(address)) return address;
  }
}

function freeNodePort(cluster: Cluster, spec: JsonObject): number {
  const ports = [...services(cluster).map((service) => service['spec'] ?? {}), spec].flatMap(
    (entry) => entry['ports'] ?? [],
  );
  const used = new Set(ports.map((port: JsonObject) => port['nodePort']));
  let port = 30_000;
  while (used.has(port)) port += 1;
  return port;
}
