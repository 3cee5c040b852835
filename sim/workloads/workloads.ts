// Fills a simulated cluster with workloads, and changes them from time to time. Clusters of different names get
// different workloads; the same name and seed always give the same ones. Workloads that users created or changed are
// not changed.
import { createRandom, type Random } from '../model/random.ts';
import { createClock, type Clock } from '../streams/clock.ts';
import { timestamp, type JsonObject } from '../model/types.ts';
import { demoRights } from './demo-users.ts';
import { ageFirstPods } from './workload-ages.ts';
import {
  platformNamespaces,
  sharedNamespace,
  systemNamespace,
  teamNamespaces,
  type NamespaceTemplate,
} from './workload-catalog.ts';
import { createChanges } from './workload-changes.ts';
import { labelsOf, liveLabel, serviceOf, workloadOf } from './workload-objects.ts';
import type { SimObjects } from '../api/objects.ts';

export { demoUsers, type DemoUser } from './demo-users.ts';

const dayMs = 86_400_000;

/** Cluster name, seed and time, from which the workloads are computed. */
export interface SeedOptions {
  /** The name of the cluster. Clusters with other names get other workloads. */
  readonly name: string;
  /** A seed for the choice of workloads. Default 1. */
  readonly seed?: string | number;
  /** The objects are created with creation times before this time. Default: the present time. */
  readonly now?: Date;
}

/** What seedWorkloads has created. */
export interface SeededWorkloads {
  /** The namespaces of teams, without kube-system and the shared services. */
  readonly teamNamespaces: readonly string[];
  /** The number of pods when all of them run. */
  readonly podCount: number;
  /** Stops making new pods look old. It also stops by itself after the first `podCount` pods. */
  close(): void;
}

/**
 * Creates namespaces, workloads, Services, ConfigMaps, Secrets and the RBAC of the demo users. A cluster gets 10 to 30
 * pods.
 */
export function seedWorkloads(store: SimObjects, options: SeedOptions): SeededWorkloads {
  const random = createRandom(`${options.seed ?? 1}/${options.name}`);
  const now = options.now ?? new Date();
  const teams = [sharedNamespace, ...random.shuffle(teamNamespaces).slice(0, random.between(1, 2))];
  const platform = random.shuffle(platformNamespaces).slice(0, random.between(1, 2));
  let podCount = 0;
  for (const template of [systemNamespace, ...platform, ...teams])
    podCount += seedNamespace(store, template, random, now);
  for (const object of demoRights()) store.apply(object);
  const builtAt = timestamp(new Date(now.getTime() - 420 * dayMs));
  for (const { metadata } of store.list('Node')) {
    store.update('Node', '', metadata.name, (next) => (next.metadata.creationTimestamp = builtAt));
  }
  const names = new Set([systemNamespace, ...platform, ...teams].map((template) => template.name));
  return {
    teamNamespaces: teams.map((template) => template.name),
    podCount,
    close: ageFirstPods(store, { names, podCount, random, now }),
  };
}

function seedNamespace(store: SimObjects, template: NamespaceTemplate, random: Random, now: Date): number {
  const { name: namespace, team } = template;
  const age = random.between(60, 400);
  const createdAt = (days: number): string =>
    timestamp(new Date(now.getTime() - days * dayMs - random.between(0, dayMs)));
  if (store.get('Namespace', '', namespace) === undefined) {
    const labels = { 'kubernetes.io/metadata.name': namespace, team };
    store.apply({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels, creationTimestamp: createdAt(age) },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  }
  let podCount = 0;
  for (const app of template.apps) {
    const version = random.pick(app.versions);
    const replicas = random.between(...app.replicas);
    const metadata = (name: string): JsonObject => ({
      name,
      namespace,
      labels: { ...labelsOf(app, team), [liveLabel]: 'true' },
      creationTimestamp: createdAt(random.between(1, age)),
    });
    store.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: metadata(`${app.name}-config`),
      data: { ...app.config },
    });
    store.apply(serviceOf(app, metadata(app.name)));
    store.apply(workloadOf(app, team, version, replicas, metadata(app.name)));
    podCount += app.kind === 'DaemonSet' ? Math.max(1, store.list('nodes').length) : replicas;
  }
  const password = Buffer.from('simulated, nothing to see').toString('base64');
  store.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `${team}-credentials`, namespace, labels: { team }, creationTimestamp: createdAt(age) },
    type: 'Opaque',
    data: { password },
  });
  return podCount;
}

/** Which cluster's workloads change, and how often. */
export interface LiveOptions extends SeedOptions {
  /** Average time between two changes, in milliseconds. Default 4 s. */
  readonly periodMs?: number;
  readonly clock?: Clock;
}

/** Changes the workloads every few seconds: restarts, rollouts, scaling, evictions, Events. `close()` stops this. */
export function liveWorkloads(store: SimObjects, options: LiveOptions): { close(): void } {
  const random = createRandom(`live ${options.seed ?? 1}/${options.name}`);
  const clock = options.clock ?? createClock();
  const periodMs = options.periodMs ?? 4_000;
  const change = createChanges(store, random, clock);
  let cancel = (): void => undefined;
  const schedule = (): void => {
    cancel = clock.after(Math.round(periodMs * (0.5 + random.next())), () => {
      change();
      schedule();
    });
  };
  schedule();
  return { close: () => cancel() };
}
