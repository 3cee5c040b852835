// Maintains Endpoints and EndpointSlices of Services that have a selector. A targetPort can be the name of a container
// port.
import type { Cluster } from '../call/cluster.ts';
import { matchesLabels } from '../store/selectors.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { createOwned, edit, isOver, isReady, ownedBy } from './objects.ts';

/** Updates the Endpoints and the EndpointSlice of one Service. */
export function reconcileEndpoints(cluster: Cluster, service: KubeObject): void {
  const { namespace = '', deletionTimestamp } = service.metadata;
  const selector: Record<string, string> | undefined = service['spec']?.selector;
  if (deletionTimestamp !== undefined || selector === undefined || Object.keys(selector).length === 0) return;
  const requirements = Object.entries(selector).map(([key, value]) => ({
    key,
    operator: 'in' as const,
    values: [value],
  }));
  const pods = cluster.store
    .list('/pods', namespace)
    .filter(
      (pod) => pod['status']?.podIP !== undefined && !isOver(pod) && matchesLabels(requirements, pod.metadata.labels),
    );
  const ports = ((service['spec'].ports ?? []) as JsonObject[]).map((port) => ({
    ...(port['name'] === undefined ? {} : { name: port['name'] }),
    port: numberOf(port, pods[0]),
    protocol: port['protocol'] ?? 'TCP',
  }));
  write(cluster, '/endpoints', endpointsOf(service, pods.filter(isReady), ports));
  write(cluster, 'discovery.k8s.io/endpointslices', sliceOf(service, pods, ports));
}

function endpointsOf(service: KubeObject, ready: readonly KubeObject[], ports: readonly JsonObject[]): JsonObject {
  const { name, namespace = '', labels } = service.metadata;
  const addresses = ready.map((pod) => ({
    ip: pod['status'].podIP,
    nodeName: pod['spec']?.nodeName,
    targetRef: targetOf(pod),
  }));
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      name,
      namespace,
      labels: { ...labels, 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
    },
    ...(addresses.length === 0 ? {} : { subsets: [{ addresses, ports }] }),
  };
}

function sliceOf(service: KubeObject, pods: readonly KubeObject[], ports: readonly JsonObject[]): JsonObject {
  const { name, namespace = '', uid, labels } = service.metadata;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${uid.slice(0, 5)}`,
      namespace,
      labels: {
        ...labels,
        'kubernetes.io/service-name': name,
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      ownerReferences: [ownedBy(service)],
    },
    addressType: 'IPv4',
    endpoints: pods.map((pod) => ({
      addresses: [pod['status'].podIP],
      conditions: {
        ready: isReady(pod),
        serving: isReady(pod),
        terminating: pod.metadata.deletionTimestamp !== undefined,
      },
      nodeName: pod['spec']?.nodeName,
      targetRef: targetOf(pod),
    })),
    ports: ports.map((port) => ({ name: '', ...port })),
  };
}

function targetOf(pod: KubeObject): JsonObject {
  const { name, namespace = '', uid } = pod.metadata;
  return { kind: 'Pod', name, namespace, uid };
}

function numberOf(port: JsonObject, pod: KubeObject | undefined): number {
  const target: unknown = port['targetPort'] ?? port['port'];
  if (typeof target === 'number') return target;
  const all = ((pod?.['spec']?.containers ?? []) as JsonObject[]).flatMap((container) => container['ports'] ?? []);
  return all.find((entry: JsonObject) => entry['name'] === target)?.['containerPort'] ?? port['port'];
}

function write(cluster: Cluster, key: string, object: JsonObject): void {
  const { name, namespace } = object['metadata'];
  const current = cluster.store.get(key, namespace, name);
  if (current === undefined) {
    createOwned(cluster, object);
    return;
  }
  edit(cluster, key, current, (next) => {
    const { metadata, apiVersion: _version, kind: _kind, ...rest } = object;
    delete next['subsets'];
    Object.assign(next, rest);
    next.metadata.labels = metadata.labels;
  });
}
