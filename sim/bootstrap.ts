// Creates the objects that every cluster has at start: namespaces, default roles and bindings, the Service kubernetes.
// The aggregated ClusterRoles (view, edit, admin) have no rules until syncAggregatedRoles computes them from other
// ClusterRoles.
import { syncAggregatedRoles } from './controllers/aggregation.ts';
import type { Cluster } from './call/cluster.ts';
import type { KubernetesSpec } from './schema/spec.ts';
import { copy, type KubeObject } from './model/types.ts';

const namespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

/** Creates the initial objects in an empty store. */
export function bootstrap(cluster: Cluster, spec: KubernetesSpec): void {
  const { store, registry } = cluster;
  for (const name of namespaces)
    store.insert('/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  for (const object of copy(spec.bootstrap)) {
    const resource = registry.all().find((entry) => entry.kind === object['kind']);
    if (resource !== undefined) store.insert(resource.key, object as KubeObject);
  }
  store.insert('/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kubernetes', namespace: 'default', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1'],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
      sessionAffinity: 'None',
      type: 'ClusterIP',
    },
    status: { loadBalancer: {} },
  });
  syncAggregatedRoles(cluster);
}
