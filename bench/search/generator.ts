// Generates the objects for the benchmark of the index: clusters with pods, deployments, replica sets, config maps and
// nodes, the same in every run and for both compared stores. How often a value occurs decides how useful a database
// index is, so the frequencies are fixed.
import { createRandom } from '../figures/statistics.ts';

type Random = () => number;

/** One generated Kubernetes object, with the values that the index stores in columns. */
export interface GeneratedObject {
  readonly resource: string;
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly ownerUid: string;
  readonly createdAtMs: number;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Pairs of field path and value by which the index finds a pod. */
  readonly terms: readonly (readonly [path: string, value: string])[];
  readonly json: string;
}

/** Number of generated objects of each type in one cluster; 3,340 together. */
export const perCluster = { pods: 2500, deployments: 300, replicasets: 300, configmaps: 200, nodes: 40 } as const;
export const objectsPerCluster = Object.values(perCluster).reduce((sum, n) => sum + n, 0);

const envs = ['prod', 'staging', 'dev', 'test', 'perf'];
const words = ['web', 'api', 'cart', 'user', 'pay', 'mail', 'feed', 'log', 'geo', 'auth', 'cron', 'bill'];
const parts = ['', 'front', 'sync', 'worker', 'store'];
/** Names of the 60 applications that own pods, such as `web` and `web-sync`. */
const apps = words.flatMap((word) => parts.map((part) => (part === '' ? word : `${word}-${part}`)));
const images = ['nginx', 'redis', 'envoy', 'node', 'golang-app', 'jvm-app', 'python-app', 'fluent-bit', 'postgres'];
const startMs = Date.UTC(2026, 0, 1);
const secondsOfYear = 300 * 24 * 3600;

export function clusterName(index: number): string {
  return `cluster-${String(index).padStart(4, '0')}`;
}

/** Yields all objects of a cluster, the same ones for the same index. Owners come before the objects that they own. */
export function* clusterObjects(index: number): Generator<GeneratedObject> {
  const random = createRandom(1000 + index);
  const int = (below: number): number => Math.floor(random() * below);
  const pick = <T>(list: readonly T[]): T => list[int(list.length)]!;
  let version = 1_000_000;
  const make = makeObject(clusterName(index), () => String(version++));

  for (let i = 0; i < perCluster.nodes; i++) {
    const labels = {
      'kubernetes.io/os': 'linux',
      zone: pick(['a', 'b', 'c']),
      'node.kubernetes.io/instance-type': 'm5',
    };
    yield make(
      '',
      'nodes',
      'Node',
      { namespace: '', name: `node-${i}`, uid: uuid(random), created: createdAt(random), labels },
      {
        spec: { podCIDR: `10.0.${i}.0/24`, providerID: `cloud:///${index}/${i}` },
        status: { nodeInfo: { kubeletVersion: 'v1.36.1', architecture: 'amd64' }, note: filler(random, 1500) },
      },
    );
  }
  for (let i = 0; i < perCluster.configmaps; i++) {
    const labels = { app: pick(apps) };
    const meta = {
      namespace: namespaceOf(random),
      name: `settings-${i}`,
      uid: uuid(random),
      created: createdAt(random),
      labels,
    };
    yield make('', 'configmaps', 'ConfigMap', meta, { data: { config: filler(random, 1200) } });
  }
  const podsPerSet = perCluster.pods / perCluster.replicasets;
  let pods = 0;
  for (let i = 0; i < perCluster.deployments; i++) {
    const app = pick(apps);
    const namespace = namespaceOf(random);
    const labels = { app, env: pick(envs), team: `team-${int(20)}`, 'app.kubernetes.io/part-of': app.split('-')[0]! };
    const created = createdAt(random);
    const name = `${app}-${i}`;
    const template = { metadata: { labels }, spec: podSpec(random, 'none') };
    const deployment = { namespace, name, uid: uuid(random), created, labels };
    yield make('apps', 'deployments', 'Deployment', deployment, { spec: { replicas: 8, template }, status: {} });
    const hash = hex(random, 10);
    const setLabels = { ...labels, 'pod-template-hash': hash };
    const set = { namespace, name: `${name}-${hash}`, uid: uuid(random), created, labels: setLabels };
    const setOwner = { kind: 'Deployment', name, uid: deployment.uid };
    yield make('apps', 'replicasets', 'ReplicaSet', { ...set, owner: setOwner }, { spec: { replicas: 8, template } });
    for (const until = Math.floor((i + 1) * podsPerSet); pods < until; pods++) {
      const node = `node-${int(perCluster.nodes)}`;
      const chance = random();
      const phase = chance < 0.96 ? 'Running' : chance < 0.98 ? 'Pending' : chance < 0.99 ? 'Failed' : 'Succeeded';
      const spec = podSpec(random, node);
      const owner = { kind: 'ReplicaSet', name: set.name, uid: set.uid };
      const pod = {
        namespace,
        name: `${set.name}-${hex(random, 3)}${pods % 100}`,
        uid: uuid(random),
        labels: setLabels,
        owner,
      };
      yield make(
        '',
        'pods',
        'Pod',
        { ...pod, created: createdAt(random) },
        { spec, status: podStatus(random, phase, spec) },
      );
    }
  }
}

interface Meta {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly created: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly owner?: { readonly kind: string; readonly name: string; readonly uid: string };
}

function makeObject(cluster: string, nextVersion: () => string) {
  return (group: string, resource: string, kind: string, meta: Meta, rest: object): GeneratedObject => {
    const { namespace, name, uid, created, labels, owner } = meta;
    const resourceVersion = nextVersion();
    const document = {
      apiVersion: group === '' ? 'v1' : `${group}/v1`,
      kind,
      metadata: {
        name,
        ...(namespace === '' ? {} : { namespace }),
        uid,
        resourceVersion,
        creationTimestamp: new Date(created).toISOString().replace('.000Z', 'Z'),
        labels,
        annotations: { 'shadow.clusterpedia.io/cluster-name': cluster },
        ...(owner === undefined
          ? {}
          : { ownerReferences: [{ apiVersion: 'apps/v1', ...owner, controller: true, blockOwnerDeletion: true }] }),
      },
      ...rest,
    };
    const json = JSON.stringify(document);
    const terms = kind === 'Pod' ? podTerms(rest as PodRest) : [];
    const ownerUid = owner?.uid ?? '';
    return {
      resource,
      group,
      kind,
      namespace,
      name,
      uid,
      ownerUid,
      createdAtMs: created,
      resourceVersion,
      labels,
      terms,
      json,
    };
  };
}

interface PodRest {
  readonly spec: ReturnType<typeof podSpec>;
  readonly status: { readonly phase: string; readonly podIP: string };
}

function podTerms({ spec, status }: PodRest): readonly (readonly [string, string])[] {
  return [
    ['status.phase', status.phase],
    ['status.podIP', status.podIP],
    ['spec.nodeName', spec.nodeName],
    ['spec.serviceAccountName', spec.serviceAccountName],
    ['spec.restartPolicy', spec.restartPolicy],
    ['spec.schedulerName', spec.schedulerName],
    ...spec.containers.flatMap(({ name, image }) => [
      ['spec.containers[].image', image] as const,
      ['spec.containers[].name', name] as const,
    ]),
  ];
}

function podSpec(random: Random, nodeName: string) {
  const count = 1 + Math.floor(random() * 3);
  return {
    nodeName,
    serviceAccountName: 'default',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    terminationGracePeriodSeconds: 30,
    containers: Array.from({ length: count }, (_, i) => ({
      name: `main-${i}`,
      image: `registry.example/${images[Math.floor(random() * images.length)]}:1.${Math.floor(random() * 40)}`,
      env: Array.from({ length: 8 }, (_unused, n) => ({ name: `SETTING_${n}`, value: hex(random, 24) })),
      resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
      volumeMounts: [{ name: 'token', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true }],
      livenessProbe: { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 10 },
    })),
    tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' }],
    volumes: [{ name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
  };
}

function podStatus(random: Random, phase: string, { containers }: ReturnType<typeof podSpec>) {
  const at = new Date(createdAt(random)).toISOString();
  const byte = (): number => Math.floor(random() * 256);
  return {
    phase,
    podIP: `10.${byte()}.${byte()}.${byte()}`,
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      type,
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: at,
    })),
    containerStatuses: containers.map(({ name, image }) => ({
      name,
      image,
      imageID: `registry.example/x@sha256:${hex(random, 64)}`,
      containerID: `containerd://${hex(random, 64)}`,
      ready: true,
      restartCount: Math.floor(random() * 3),
      state: { running: { startedAt: at } },
    })),
    note: filler(random, 900),
  };
}

/** Returns one of 100 namespaces at random. A few of them get most of the objects. */
function namespaceOf(random: Random): string {
  return `team-${String(Math.floor(100 * random() ** 2)).padStart(2, '0')}`;
}

function createdAt(random: Random): number {
  return startMs + Math.floor(random() * secondsOfYear) * 1000;
}

function uuid(random: Random): string {
  return `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-8${hex(random, 3)}-${hex(random, 12)}`;
}

function hex(random: Random, digits: number): string {
  let text = '';
  while (text.length < digits)
    text += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return text.slice(0, digits);
}

function filler(random: Random, length: number): string {
  let text = '';
  while (text.length < length) text += `${apps[Math.floor(random() * apps.length)]} `;
  return text.slice(0, length);
}
