import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from './json-object.ts';
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

test('nothing is awaited of objects that are ready by being there', () => {
  assert.ok(!canBeUnready({ apiVersion: 'v1', kind: 'ConfigMap' }));
  assert.ok(!canBeUnready({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' }));
  assert.ok(canBeUnready({ apiVersion: 'example.com/v1', kind: 'Service' }));
});

function replicas(all: number, updated: number, available: number): object {
  return { observedGeneration: 2, replicas: all, updatedReplicas: updated, availableReplicas: available };
}
