// Defaults of Services, with addresses and node ports handed out. An update that leaves the address out keeps the
// old one.
import type { Cluster } from '../cluster.ts';
import type { JsonObject, KubeObject } from '../types.ts';
import type { Defaulter } from './defaulter.ts';
import { fill } from './pods.ts';

/** The defaulter of Services; on update it also keeps what was handed out. */
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

/** Hands out addresses and node ports; what `before` had is kept. */
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
