// Runs the controllers of a simulated cluster: they turn Deployments into running Pods, delete the dependents of
// deleted owners, and empty deleted namespaces. Easy to get wrong: a reconciler must read the newest version of an
// object and write only fields that differ. Otherwise two reconcilers may change the same object for ever.
import type { Cluster } from '../call/cluster.ts';
import type { KubeObject } from '../model/types.ts';
import { watchAggregatedRoles } from './aggregation.ts';
import { reconcileDaemonSet } from './daemon-sets.ts';
import { reconcileDeployment } from './deployments.ts';
import { reconcileBudget } from './disruption-budgets.ts';
import { reconcileEndpoints } from './endpoints.ts';
import { startGarbageCollector } from './garbage-collector.ts';
import { reconcileJob } from './jobs.ts';
import { startKubelet, type ControllerDelays } from './kubelet.ts';
import { reconcileNamespace } from './namespaces.ts';
import { reconcileReplicaSet } from './replica-sets.ts';
import { reconcileStatefulSet } from './stateful-sets.ts';
import { reconcileClaim } from './volumes.ts';
import { controllerOf } from './objects.ts';

/** Makes the next changes that bring an object, or the objects that it owns, closer to its spec. */
export type Reconcile = (cluster: Cluster, object: KubeObject) => void;

/** The function that handles objects of a kind, by storage key (`group/plural`). */
const reconcilers: Readonly<Record<string, Reconcile>> = {
  'apps/deployments': reconcileDeployment,
  'apps/replicasets': reconcileReplicaSet,
  'apps/statefulsets': reconcileStatefulSet,
  'apps/daemonsets': reconcileDaemonSet,
  'batch/jobs': reconcileJob,
  '/services': reconcileEndpoints,
  '/namespaces': reconcileNamespace,
  '/persistentvolumeclaims': reconcileClaim,
  'policy/poddisruptionbudgets': reconcileBudget,
};

/** The storage keys of kinds whose objects own others. A changed dependent makes its owner run again. */
const keyByKind: Readonly<Record<string, string>> = {
  Deployment: 'apps/deployments',
  ReplicaSet: 'apps/replicasets',
  StatefulSet: 'apps/statefulsets',
  DaemonSet: 'apps/daemonsets',
  Job: 'batch/jobs',
};

/** Starts all controllers. They stop when the cluster's timers are closed. */
export function startControllers(cluster: Cluster, delays: ControllerDelays): void {
  const { store, timers } = cluster;
  const waiting = new Map<string, readonly [key: string, namespace: string, name: string]>();
  let isScheduled = false;

  const flush = (): void => {
    isScheduled = false;
    const batch = [...waiting.values()];
    waiting.clear();
    for (const [key, namespace, name] of batch) {
      const object = store.get(key, namespace, name);
      if (object !== undefined) reconcilers[key]?.(cluster, object);
    }
  };
  const enqueue = (key: string, namespace: string, name: string): void => {
    if (reconcilers[key] === undefined) return;
    waiting.set(`${key} ${namespace}/${name}`, [key, namespace, name]);
    if (isScheduled) return;
    isScheduled = true;
    timers.after(2, flush);
  };
  const enqueueAll = (key: string, namespace = ''): void => {
    for (const object of store.list(key, namespace))
      enqueue(key, object.metadata.namespace ?? '', object.metadata.name);
  };

  store.subscribe('*', ({ key, object }) => {
    const { namespace = '', name } = object.metadata;
    enqueue(key, namespace, name);
    const owner = controllerOf(object);
    if (owner !== undefined) enqueue(keyByKind[owner.kind] ?? '', namespace, owner.name);
    if (key === '/pods') {
      enqueueAll('/services', namespace);
      enqueueAll('policy/poddisruptionbudgets', namespace);
    }
    if (key === '/nodes') enqueueAll('apps/daemonsets');
    if (namespace !== '' && store.get('/namespaces', '', namespace)?.metadata.deletionTimestamp !== undefined)
      enqueue('/namespaces', '', namespace);
  });
  startGarbageCollector(cluster);
  startKubelet(cluster, delays);
  watchAggregatedRoles(cluster);
  for (const key of Object.keys(reconcilers)) enqueueAll(key);
}
