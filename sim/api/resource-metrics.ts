// The resource metrics API (`metrics.k8s.io`) of a simulated cluster, as metrics-server serves it for kubectl top: get
// and list of PodMetrics and NodeMetrics, without watch. The figures are invented, but a pod's stay near each other
// from one window to the next, and a node's are those of its pods and a little more.
import { sendPieces } from '../call/answer.ts';
import type { Call, Cluster } from '../call/cluster.ts';
import { includeObjectOf, sendShaped } from './list.ts';
import type { Resource } from '../store/resources.ts';
import { matcherOf } from '../store/selectors.ts';
import { createRandom } from '../model/random.ts';
import { methodNotAllowed, notFound } from '../model/status-error.ts';
import { timestamp, type JsonObject, type KubeObject } from '../model/types.ts';
import { listPieces } from '../wire/wire.ts';

const group = 'metrics.k8s.io';
const version = 'v1beta1';
/** Milliseconds between two figures of a pod, as metrics-server scrapes. */
const windowMs = 15_000;
/** What a node needs beside its pods. */
const ofNode = { cpuMillis: 120, memoryKi: 900 * 1024 };

/** The resources of the group. metrics-server gives them no singular names. */
export const metricsResources: readonly Resource[] = [resource('nodes', 'NodeMetrics'), resource('pods', 'PodMetrics')];

function resource(plural: string, kind: string): Resource {
  return {
    ...{ group, version, plural, kind, singular: '', namespaced: plural === 'pods', verbs: ['get', 'list'] },
    ...{ shortNames: [], categories: [], subresources: [], hasStatus: false, schemaName: undefined },
    key: `${group}/${plural}`,
  };
}

/** Whether the resource is one of these, and not of a CustomResourceDefinition that a test has put in their place. */
export function isMetrics(resource: Resource): boolean {
  return metricsResources.includes(resource);
}

/** Answers get and list. @throws StatusError 404 for an unknown name, 405 for another verb */
export async function serveMetrics(call: Call, resource: Resource): Promise<void> {
  const { cluster, info, query } = call;
  if (!resource.verbs.includes(info.verb)) throw methodNotAllowed();
  const all = resource.plural === 'pods' ? podMetrics(cluster, info.namespace) : nodeMetrics(cluster);
  if (info.verb === 'get') {
    const found = all.find(({ metadata }) => metadata.name === info.name);
    if (found === undefined) throw notFound(resource, info.name);
    return sendShaped(call, resource, 200, found);
  }
  const matches = matcherOf(query, resource);
  const table = { includeObject: includeObjectOf(call), now: cluster.now() };
  const pieces = listPieces(resource, all.filter(matches), {}, call.accept, table);
  return sendPieces(call, 200, 'application/json', pieces);
}

interface Usage {
  readonly cpuMillis: number;
  readonly memoryKi: number;
}

function podMetrics(cluster: Cluster, namespace: string): readonly KubeObject[] {
  return runningPods(cluster, namespace).map((pod) => {
    const containers = usagesOf(cluster, pod).map(([name, usage]) => ({ name, usage: quantities(usage) }));
    return measured(cluster, 'PodMetrics', pod, { containers });
  });
}

function nodeMetrics(cluster: Cluster): readonly KubeObject[] {
  const pods = Map.groupBy(runningPods(cluster, ''), (pod) => String(pod['spec']?.nodeName));
  return cluster.store.list('/nodes').map((node) => {
    const usages = (pods.get(node.metadata.name) ?? []).flatMap((pod) =>
      usagesOf(cluster, pod).map(([, usage]) => usage),
    );
    const usage = usages.reduce(
      (sum, each) => ({ cpuMillis: sum.cpuMillis + each.cpuMillis, memoryKi: sum.memoryKi + each.memoryKi }),
      ofNode,
    );
    return measured(cluster, 'NodeMetrics', node, { usage: quantities(usage) });
  });
}

function runningPods({ store }: Cluster, namespace: string): readonly KubeObject[] {
  return store
    .list('/pods', namespace === '' ? undefined : namespace)
    .filter((pod) => pod['status']?.phase === 'Running');
}

/** What each container of a pod uses in this window. */
function usagesOf(cluster: Cluster, pod: KubeObject): readonly (readonly [container: string, usage: Usage])[] {
  const window = Math.floor(cluster.now().getTime() / windowMs);
  return ((pod['spec']?.containers ?? []) as readonly JsonObject[]).map(({ name }) => {
    const usual = createRandom(`${pod.metadata.uid} ${name}`);
    const now = createRandom(`${pod.metadata.uid} ${name} ${window}`);
    const cpuMillis = usual.between(2, 180) + now.between(0, 20);
    return [name, { cpuMillis, memoryKi: usual.between(12, 380) * 1024 + now.between(0, 4096) }];
  });
}

function quantities({ cpuMillis, memoryKi }: Usage): JsonObject {
  return { cpu: `${cpuMillis}m`, memory: `${memoryKi}Ki` };
}

function measured(cluster: Cluster, kind: string, of: KubeObject, content: JsonObject): KubeObject {
  const { name, namespace, labels } = of.metadata;
  const at = timestamp(cluster.now());
  const metadata = { name, namespace, labels, creationTimestamp: at } as KubeObject['metadata'];
  return {
    kind,
    apiVersion: `${group}/${version}`,
    metadata,
    timestamp: at,
    window: `${windowMs / 1000}s`,
    ...content,
  };
}
