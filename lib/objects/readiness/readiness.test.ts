import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../json-object.ts';
import { canBeUnready, readinessOf } from './readiness.ts';

/** Verdict on an object, as `ready`, `waiting: …` or `failed: …`. */
function verdict(kind: string, object: JsonObject): string {
  const [apiVersion, name] = kind.includes(' ') ? kind.split(' ') : ['v1', kind];
  const readiness = readinessOf({ apiVersion, kind: name, metadata: { generation: 2 }, ...object });
  return readiness.state === 'ready' ? 'ready' : `${readiness.state}: ${readiness.reason}`;
}

const condition = (type: string, status: string, reason = 'Because', message = 'of this'): object => ({
  ...{ type, status, reason, message },
});

test('readiness follows the status, kind by kind', () => {
  const cases: readonly (readonly [kind: string, object: JsonObject, is: string])[] = [
    ['apps/v1 Deployment', { status: {} }, 'waiting: its controller has not seen it'],
    ['apps/v1 Deployment', { status: { observedGeneration: 1 } }, 'waiting: its controller has not seen the change'],
    ['apps/v1 Deployment', { spec: { replicas: 3 }, status: replicas(3, 3, 3) }, 'ready'],
    ['apps/v1 Deployment', { spec: { replicas: 3 }, status: replicas(3, 2, 3) }, 'waiting: 2 of 3 updated'],
    [
      'apps/v1 Deployment',
      { spec: { replicas: 3 }, status: replicas(4, 3, 3) },
      'waiting: 1 old replicas are still there',
    ],
    ['apps/v1 Deployment', { spec: { replicas: 3 }, status: replicas(3, 3, 1) }, 'waiting: 1 of 3 available'],
    ['apps/v1 Deployment', { spec: { replicas: 0 }, status: replicas(0, 0, 0) }, 'ready'],
    [
      'apps/v1 Deployment',
      { status: { ...replicas(1, 1, 0), conditions: [condition('Progressing', 'False', 'ProgressDeadlineExceeded')] } },
      'failed: ProgressDeadlineExceeded: of this',
    ],
    [
      'apps/v1 StatefulSet',
      { spec: { replicas: 2 }, status: { observedGeneration: 2, readyReplicas: 1 } },
      'waiting: 1 of 2 ready',
    ],
    [
      'apps/v1 StatefulSet',
      { status: { observedGeneration: 2, readyReplicas: 1, currentRevision: 'a', updateRevision: 'b' } },
      'waiting: pods of the old revision remain',
    ],
    [
      'apps/v1 StatefulSet',
      { status: { observedGeneration: 2, readyReplicas: 1, currentRevision: 'a', updateRevision: 'a' } },
      'ready',
    ],
    [
      'apps/v1 StatefulSet',
      {
        spec: { updateStrategy: { type: 'OnDelete' } },
        status: { observedGeneration: 2, readyReplicas: 1, updateRevision: 'b' },
      },
      'ready',
    ],
    [
      'apps/v1 StatefulSet',
      {
        spec: { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } },
        status: { observedGeneration: 2, readyReplicas: 3, updatedReplicas: 0 },
      },
      'waiting: 0 of 1 updated',
    ],
    [
      'apps/v1 DaemonSet',
      { status: { observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1 } },
      'waiting: 1 of 2 available',
    ],
    ['apps/v1 DaemonSet', { status: { observedGeneration: 2, desiredNumberScheduled: 0 } }, 'ready'],
    ['batch/v1 Job', { status: { active: 1 } }, 'waiting: has not completed'],
    ['batch/v1 Job', { status: { conditions: [condition('Complete', 'True')] } }, 'ready'],
    [
      'batch/v1 Job',
      { status: { conditions: [condition('Failed', 'True', 'BackoffLimitExceeded')] } },
      'failed: BackoffLimitExceeded: of this',
    ],
    ['Pod', { status: { phase: 'Pending' } }, 'waiting: is Pending'],
    [
      'Pod',
      { status: { phase: 'Running', containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] } },
      'waiting: CrashLoopBackOff',
    ],
    ['Pod', { status: { phase: 'Running', conditions: [condition('Ready', 'True')] } }, 'ready'],
    ['Pod', { status: { phase: 'Failed', reason: 'Evicted' } }, 'failed: Evicted'],
    ['PersistentVolumeClaim', { status: { phase: 'Pending' } }, 'waiting: volume is Pending'],
    ['PersistentVolumeClaim', { status: { phase: 'Bound' } }, 'ready'],
    ['apiextensions.k8s.io/v1 CustomResourceDefinition', {}, 'waiting: is not established'],
    [
      'apiextensions.k8s.io/v1 CustomResourceDefinition',
      { status: { conditions: [condition('Established', 'True')] } },
      'ready',
    ],
    [
      'apiextensions.k8s.io/v1 CustomResourceDefinition',
      { status: { conditions: [condition('NamesAccepted', 'False')] } },
      'failed: Because: of this',
    ],
    ['example.com/v1 Widget', {}, 'ready'],
    [
      'example.com/v1 Widget',
      { status: { conditions: [condition('Ready', 'False')] } },
      'waiting: Ready is not True: Because: of this',
    ],
    [
      'example.com/v1 Widget',
      { status: { conditions: [condition('Available', 'Unknown')] } },
      'waiting: Available is not True: Because: of this',
    ],
    [
      'example.com/v1 Widget',
      { status: { conditions: [condition('Ready', 'True'), condition('Reconciling', 'True')] } },
      'waiting: Because: of this',
    ],
    [
      'example.com/v1 Widget',
      { status: { conditions: [condition('Ready', 'True'), condition('Stalled', 'True')] } },
      'failed: Because: of this',
    ],
    ['example.com/v1 Widget', { metadata: { deletionTimestamp: 'now' } }, 'waiting: is being deleted'],
  ];
  for (const [kind, object, is] of cases) assert.equal(verdict(kind, object), is, `${kind} ${JSON.stringify(object)}`);
});

test('what kstatus, Argo CD and Helm ask of built-in kinds is asked', () => {
  const available = { ...replicas(1, 1, 1), conditions: [condition('Available', 'True', 'MinimumReplicasAvailable')] };
  const set = { observedGeneration: 2, replicas: 2, readyReplicas: 2, currentRevision: 'a', updateRevision: 'a' };
  const replicaSet = { observedGeneration: 2, replicas: 2, readyReplicas: 2, availableReplicas: 2 };
  const daemons = { observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 };
  const two = { replicas: 2 };
  const cases: readonly (readonly [kind: string, object: JsonObject, is: string])[] = [
    ['apps/v1 Deployment', { status: available }, 'ready'],
    ['apps/v1 Deployment', { spec: { paused: true }, status: available }, 'ready'],
    ['apps/v1 Deployment', { spec: { paused: true }, status: replicas(1, 0, 1) }, 'waiting: is paused, 0 of 1 updated'],
    [
      'apps/v1 Deployment',
      { status: { ...available, conditions: [condition('Available', 'False')] } },
      'waiting: Available is not True: Because: of this',
    ],
    [
      'apps/v1 Deployment',
      { status: { ...available, conditions: [condition('Progressing', 'False')] } },
      'waiting: Progressing is not True: Because: of this',
    ],
    [
      'apps/v1 Deployment',
      { spec: { paused: true }, status: { ...available, conditions: [condition('Progressing', 'Unknown')] } },
      'ready',
    ],
    ['apps/v1 StatefulSet', { spec: two, status: { ...set, currentReplicas: 1 } }, 'waiting: 1 of 2 current'],
    ['apps/v1 DaemonSet', { status: { ...daemons, numberReady: 2 } }, 'waiting: 2 of 3 ready'],
    ['apps/v1 StatefulSet', { spec: two, status: set }, 'ready'],
    ['apps/v1 StatefulSet', { status: set }, 'waiting: 1 replicas too many are still there'],
    ['apps/v1 StatefulSet', { spec: two, status: { ...set, availableReplicas: 1 } }, 'waiting: 1 of 2 available'],
    ['apps/v1 StatefulSet', { spec: two, status: {} }, 'waiting: its controller has not seen it'],
    ['apps.kruise.io/v1beta1 StatefulSet', { spec: two, status: set }, 'ready'],
    ['apps.kruise.io/v1beta1 StatefulSet', { spec: { replicas: 3 }, status: set }, 'waiting: 2 of 3 ready'],
    ['apps/v1 ReplicaSet', { spec: two, status: replicaSet }, 'ready'],
    ['apps/v1 ReplicaSet', { spec: two }, 'waiting: its controller has not seen it'],
    [
      'apps/v1 ReplicaSet',
      { spec: two, status: { ...replicaSet, observedGeneration: 1 } },
      'waiting: its controller has not seen the change',
    ],
    ['apps/v1 ReplicaSet', { status: replicaSet }, 'waiting: 1 replicas too many are still there'],
    ['apps/v1 ReplicaSet', { spec: two, status: { ...replicaSet, availableReplicas: 0 } }, 'waiting: 0 of 2 available'],
    [
      'apps/v1 ReplicaSet',
      { spec: two, status: { ...replicaSet, conditions: [condition('ReplicaFailure', 'True', 'FailedCreate')] } },
      'waiting: FailedCreate: of this',
    ],
    ['ReplicationController', { spec: two, status: replicaSet }, 'ready'],
    ['ReplicationController', { spec: { replicas: 3 }, status: replicaSet }, 'waiting: 2 of 3 ready'],
    ['apps/v1 DaemonSet', { status: daemons }, 'ready'],
    ['apps/v1 DaemonSet', { status: { observedGeneration: 2 } }, 'waiting: has no desiredNumberScheduled yet'],
    ['apps/v1 DaemonSet', { status: { ...daemons, updatedNumberScheduled: 1 } }, 'waiting: 1 of 3 updated'],
    [
      'apps/v1 DaemonSet',
      { spec: { updateStrategy: { type: 'OnDelete' } }, status: { ...daemons, updatedNumberScheduled: 0 } },
      'ready',
    ],
    [
      'apps.kruise.io/v1alpha1 DaemonSet',
      {
        spec: { updateStrategy: { rollingUpdate: { partition: 2 } } },
        status: { ...daemons, updatedNumberScheduled: 1 },
      },
      'ready',
    ],
    [
      'apps.kruise.io/v1alpha1 CloneSet',
      {
        spec: two,
        status: { observedGeneration: 2, updatedReplicas: 1, expectedUpdatedReplicas: 1, availableReplicas: 2 },
      },
      'ready',
    ],
    [
      'apps.kruise.io/v1alpha1 CloneSet',
      { spec: two, status: { observedGeneration: 2, updatedReplicas: 1, expectedUpdatedReplicas: 2 } },
      'waiting: 1 of 2 updated',
    ],
    ['batch/v1 Job', {}, 'waiting: has not completed'],
    ['batch/v1 Job', { spec: { suspend: true } }, 'waiting: has not been suspended yet'],
    ['batch/v1 Job', { spec: { suspend: true }, status: { conditions: [condition('Suspended', 'True')] } }, 'ready'],
    [
      'batch/v1 Job',
      { spec: { suspend: false }, status: { conditions: [condition('Suspended', 'True')] } },
      'waiting: has not completed',
    ],
    ['batch/v1 CronJob', { status: { lastScheduleTime: '2026-01-01T00:00:00Z' } }, 'ready'],
    ['Pod', {}, 'waiting: is not scheduled'],
    ['Pod', { status: { phase: 'Succeeded' } }, 'ready'],
    ['Pod', { status: { phase: 'Unknown', conditions: [condition('Ready', 'True')] } }, 'waiting: is Unknown'],
    [
      'Pod',
      { status: { phase: 'Pending', initContainerStatuses: [{ state: { waiting: { reason: 'ErrImagePull' } } }] } },
      'waiting: ErrImagePull',
    ],
    ['PersistentVolumeClaim', {}, 'waiting: volume is not there'],
    ['PersistentVolumeClaim', { status: { phase: 'Lost' } }, 'failed: volume is Lost'],
    ['Service', { spec: { clusterIP: '10.0.0.1' }, status: { loadBalancer: {} } }, 'ready'],
    ['Service', { spec: { clusterIP: 'None' } }, 'ready'],
    ['Service', { spec: { type: 'ExternalName', externalName: 'example.com' } }, 'ready'],
    ['Service', { spec: { type: 'NodePort' }, status: { loadBalancer: {} } }, 'ready'],
    [
      'Service',
      { spec: { type: 'LoadBalancer' }, status: { loadBalancer: {} } },
      'waiting: its load balancer has no address',
    ],
    [
      'Service',
      { spec: { type: 'LoadBalancer' }, status: { loadBalancer: { ingress: [] } } },
      'waiting: its load balancer has no address',
    ],
    [
      'Service',
      { spec: { type: 'LoadBalancer' }, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
      'ready',
    ],
    ['Service', { spec: { type: 'LoadBalancer', externalIPs: ['192.0.2.1'] } }, 'ready'],
    ['Service', { spec: { type: 'LoadBalancer', externalIPs: [] } }, 'waiting: its load balancer has no address'],
    ['networking.k8s.io/v1 Ingress', { status: { loadBalancer: {} } }, 'ready'],
    ['Namespace', { status: { phase: 'Active' } }, 'ready'],
    ['Namespace', { status: { phase: 'Terminating' } }, 'waiting: is being deleted'],
    ['policy/v1 PodDisruptionBudget', {}, 'waiting: its controller has not seen it'],
    [
      'policy/v1 PodDisruptionBudget',
      { status: { observedGeneration: 2, conditions: [condition('DisruptionAllowed', 'False', 'InsufficientPods')] } },
      'ready',
    ],
    [
      'policy/v1 PodDisruptionBudget',
      { status: { observedGeneration: 2, conditions: [condition('DisruptionAllowed', 'False', 'SyncFailed')] } },
      'waiting: SyncFailed: of this',
    ],
    ['autoscaling/v2 HorizontalPodAutoscaler', {}, 'waiting: has no condition AbleToScale yet'],
    [
      'autoscaling/v2 HorizontalPodAutoscaler',
      { status: { conditions: [condition('AbleToScale', 'True', 'ReadyForNewScale')] } },
      'ready',
    ],
    [
      'autoscaling/v2 HorizontalPodAutoscaler',
      {
        status: {
          conditions: [
            condition('AbleToScale', 'True', 'SucceededGetScale'),
            condition('ScalingActive', 'False', 'FailedGetResourceMetric'),
          ],
        },
      },
      'ready',
    ],
    [
      'autoscaling/v1 HorizontalPodAutoscaler',
      {
        metadata: {
          annotations: { 'autoscaling.alpha.kubernetes.io/conditions': '[{"type":"AbleToScale","status":"True"}]' },
        },
      },
      'ready',
    ],
    [
      'apiextensions.k8s.io/v1 CustomResourceDefinition',
      { status: { conditions: [condition('NamesAccepted', 'True'), condition('Established', 'False', 'Installing')] } },
      'waiting: is not established',
    ],
    ['argoproj.io/v1alpha1 Rollout', { status: { observedGeneration: '2', phase: 'Healthy' } }, 'ready'],
    [
      'argoproj.io/v1alpha1 Rollout',
      { status: { observedGeneration: '1', phase: 'Healthy' } },
      'waiting: its controller has not seen the change',
    ],
    ['argoproj.io/v1alpha1 Rollout', { status: { observedGeneration: '2' } }, 'waiting: has no phase yet'],
    [
      'argoproj.io/v1alpha1 Rollout',
      { status: { observedGeneration: '2', phase: 'Paused', message: 'CanaryPauseStep' } },
      'waiting: is Paused',
    ],
    [
      'argoproj.io/v1alpha1 Rollout',
      { status: { observedGeneration: '2', phase: 'Degraded', message: 'RolloutAborted' } },
      'failed: RolloutAborted',
    ],
    [
      'argoproj.io/v1alpha1 Rollout',
      {
        metadata: { generation: 2, annotations: { 'rollout.argoproj.io/workload-generation': '3' } },
        spec: { workloadRef: { kind: 'Deployment', name: 'web' } },
        status: { observedGeneration: '2', phase: 'Healthy', workloadObservedGeneration: '2' },
      },
      'waiting: its controller has not seen the change of its workload',
    ],
    ['example.com/v1 Widget', { status: { conditions: [condition('Synced', 'False')] } }, 'ready'],
    [
      'example.com/v1 Widget',
      { status: { conditions: [condition('Ready', 'True'), condition('Synced', 'False')] } },
      'waiting: Synced is not True: Because: of this',
    ],
    ['kustomize.toolkit.fluxcd.io/v1 Kustomization', { spec: { suspend: true } }, 'ready'],
    ['kustomize.toolkit.fluxcd.io/v1 Kustomization', { spec: { suspend: false } }, 'waiting: has no status yet'],
    [
      'kustomize.toolkit.fluxcd.io/v1 Kustomization',
      { status: { observedGeneration: 2, conditions: [condition('Ready', 'False'), condition('Stalled', 'True')] } },
      'failed: Because: of this',
    ],
  ];
  for (const [kind, object, is] of cases) assert.equal(verdict(kind, object), is, `${kind} ${JSON.stringify(object)}`);
});

test('a failure without a date is waited for once the object was changed, unless the object runs once', () => {
  const canary = (generation: number, status: object) =>
    verdict('flagger.app/v1 Canary', { metadata: { generation }, status });
  assert.equal(canary(1, { phase: 'Failed' }), 'failed: phase is Failed');
  assert.equal(canary(2, { phase: 'Failed' }), 'waiting: phase is Failed');
  assert.equal(canary(2, { phase: 'Failed', observedGeneration: 2 }), 'failed: phase is Failed');
  const run = { status: { conditions: [condition('Succeeded', 'False')] } };
  assert.equal(verdict('tekton.dev/v1 TaskRun', run), 'failed: Succeeded: Because: of this');
  assert.equal(
    verdict('bitnami.com/v1alpha1 SealedSecret', { status: { conditions: [condition('Synced', 'False')] } }),
    'waiting: Synced: Because: of this',
  );
});

test('nothing is awaited of objects that are ready by being there', () => {
  assert.ok(!canBeUnready({ apiVersion: 'v1', kind: 'ConfigMap' }));
  assert.ok(!canBeUnready({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' }));
  assert.ok(!canBeUnready({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' }));
  assert.ok(canBeUnready({ apiVersion: 'v1', kind: 'Service' }));
  assert.ok(canBeUnready({ apiVersion: 'example.com/v1', kind: 'ConfigMap' }));
});

function replicas(all: number, updated: number, available: number): object {
  return { observedGeneration: 2, replicas: all, updatedReplicas: updated, availableReplicas: available };
}
