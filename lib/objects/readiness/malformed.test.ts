import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../json/exact-json.ts';
import type { JsonObject } from '../json-object.ts';
import { readinessOf } from './readiness.ts';

function verdict(kind: string, object: object): string {
  const [apiVersion, name] = kind.includes(' ') ? kind.split(' ') : ['example.com/v1', kind];
  const readiness = readinessOf({ apiVersion, kind: name, metadata: { generation: 2 }, ...object });
  return readiness.state === 'ready' ? 'ready' : `${readiness.state}: ${readiness.reason}`;
}

function check(cases: readonly (readonly [kind: string, object: object, is: string])[]): void {
  for (const [kind, object, is] of cases) {
    const shown = JSON.stringify(object);
    assert.equal(verdict(kind, object), is, `${kind} ${shown}`);
  }
}

const isReady = { type: 'Ready', status: 'True' };
const deployed = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
const unseen = 'waiting: its controller has not seen the change';

test('a generation that cannot be read is not taken for one that was seen', () => {
  const observed = (observedGeneration: unknown, is: string) =>
    ['Widget', { status: { observedGeneration, conditions: [isReady] } }, is] as const;
  check([
    observed(2, 'ready'),
    observed(1, unseen),
    observed(0, unseen),
    observed('2', 'ready'),
    observed('1', unseen),
    observed('01', unseen),
    observed('6b9f8c7d', 'waiting: status.observedGeneration is not a number'),
    observed('', 'waiting: status.observedGeneration is not a number'),
    observed('2 ', 'waiting: status.observedGeneration is not a number'),
    observed('-1', 'waiting: status.observedGeneration is not a number'),
    observed('2.0', 'waiting: status.observedGeneration is not a number'),
    observed('9'.repeat(30), 'waiting: status.observedGeneration is not a number'),
    observed(null, 'waiting: status.observedGeneration is not a number'),
    observed(true, 'waiting: status.observedGeneration is not a number'),
    observed([2], 'waiting: status.observedGeneration is not a number'),
    observed({}, 'waiting: status.observedGeneration is not a number'),
    observed(1.5, 'waiting: status.observedGeneration is not a whole number'),
    observed(2.5, 'waiting: status.observedGeneration is not a whole number'),
    observed(-1, 'waiting: status.observedGeneration is negative'),
    observed(-1n, 'waiting: status.observedGeneration is negative'),
    observed(3, 'waiting: status.observedGeneration 3 is beyond metadata.generation 2'),
    observed('3', 'waiting: status.observedGeneration 3 is beyond metadata.generation 2'),
    observed(2n, 'ready'),
    observed(1n, unseen),
  ]);
  const generation = (value: unknown, is: string, observedGeneration: unknown = 2) =>
    ['Widget', { metadata: { generation: value }, status: { observedGeneration, conditions: [isReady] } }, is] as const;
  check([
    generation('2', 'waiting: metadata.generation is not a number'),
    generation(null, 'waiting: metadata.generation is not a number'),
    generation(2.5, 'waiting: metadata.generation is not a whole number'),
    generation(-2, 'waiting: metadata.generation is negative'),
    generation(3n, unseen),
    generation(undefined, 'ready'),
    generation(9_007_199_254_740_993n, 'ready', 9_007_199_254_740_993n),
    generation(9_007_199_254_740_993n, unseen, 9_007_199_254_740_992n),
    generation(9_007_199_254_740_993n, unseen, '9007199254740992'),
    generation(9_007_199_254_740_993n, unseen, 3),
  ]);
  const read = (text: string): string => verdict('Widget', parseExact(text) as JsonObject);
  const large = '{"metadata":{"generation":9007199254740993},"status":{"observedGeneration":';
  assert.equal(read(`${large}9007199254740993}}`), 'ready');
  assert.equal(read(`${large}9007199254740992}}`), unseen);
});

test('conditions that are of an older generation, or no conditions, are not believed', () => {
  const of = (observedGeneration: unknown, type = 'Ready') => ({ type, status: 'True', observedGeneration });
  const given = (conditions: unknown, is: string) => ['Widget', { status: { conditions } }, is] as const;
  check([
    given([of(2)], 'ready'),
    given([of('2')], 'ready'),
    given([of(1)], unseen),
    given([of(1, 'Synced')], unseen),
    given([of(1), of(2, 'Synced')], 'waiting: Ready is of generation 1, not of 2'),
    given([of(2), of(1, 'Synced')], 'waiting: Synced is of generation 1, not of 2'),
    given([of(2), of(1, 'Scheduled')], 'ready'),
    given([of(3)], 'waiting: status.conditions[0].observedGeneration 3 is beyond metadata.generation'),
    given([of('x')], 'waiting: status.conditions[0].observedGeneration is not a number'),
    given([of(null)], 'waiting: status.conditions[0].observedGeneration is not a number'),
    given([of(1.5)], 'waiting: status.conditions[0].observedGeneration is not a whole number'),
    given([of(1, 'Stalled'), of(2)], 'waiting: Stalled is of generation 1, not of 2'),
    given({}, 'waiting: status.conditions is not a list'),
    given({ Ready: isReady }, 'waiting: status.conditions is not a list'),
    given(null, 'waiting: status.conditions is not a list'),
    given('Ready', 'waiting: status.conditions is not a list'),
    given([null], 'waiting: status.conditions[0] is not an object'),
    given(['Ready'], 'waiting: status.conditions[0] is not an object'),
    given([isReady, [isReady]], 'waiting: status.conditions[1] is not an object'),
    given([{ status: 'True' }], 'waiting: status.conditions[0].type is not a text'),
    given([{ type: 'Ready' }], 'waiting: status.conditions[0].status is not a text'),
    given([{ type: 'Ready', status: true }], 'waiting: status.conditions[0].status is not a text'),
    given([{ type: 7, status: 'True' }], 'waiting: status.conditions[0].type is not a text'),
    given([{ type: 'Ready', status: 'true' }], 'waiting: Ready is not True: no reason given'),
    given([isReady, isReady], 'ready'),
    given(
      [isReady, { type: 'Ready', status: 'False' }],
      'waiting: status.conditions has two conditions Ready that differ',
    ),
    given(
      [
        { ...isReady, reason: 'Up' },
        { ...isReady, reason: 'Down' },
      ],
      'waiting: status.conditions has two conditions Ready that differ',
    ),
    given(
      [of(2, 'Stalled'), { type: 'Stalled', status: 'False' }],
      'waiting: status.conditions has two conditions Stalled that differ',
    ),
    given([isReady, { type: 'Warning', status: 'True' }, { type: 'Warning', status: 'False' }], 'ready'),
    given([], 'ready'),
  ]);
  check([
    [
      'cert-manager.io/v1 Certificate',
      { status: { conditions: [of(1), { type: 'Issuing', status: 'False', observedGeneration: 2 }] } },
      'waiting: Ready is of generation 1, not of 2',
    ],
    ['cert-manager.io/v1 Certificate', { status: { conditions: [of(1)] } }, unseen],
    ['cert-manager.io/v1 Certificate', { status: { conditions: [of(2)] } }, 'ready'],
    [
      'gateway.networking.k8s.io/v1 HTTPRoute',
      { status: { parents: [{ conditions: [of(2, 'Accepted')] }, { conditions: [of(1, 'Accepted')] }] } },
      'waiting: Accepted is of generation 1, not of 2',
    ],
    [
      'gateway.networking.k8s.io/v1 HTTPRoute',
      { status: { parents: [{ conditions: {} }] } },
      'waiting: status.parents[0].conditions is not a list',
    ],
    ['gateway.networking.k8s.io/v1 HTTPRoute', { status: { parents: 1 } }, 'waiting: status.parents is not a list'],
    [
      'gateway.networking.k8s.io/v1 HTTPRoute',
      { status: { parents: [1] } },
      'waiting: status.parents[0] is not an object',
    ],
  ]);
});

test('an object with parts of another form is not ready', () => {
  for (const status of [null, 'Ready', 7, true, [isReady]]) {
    for (const kind of ['Widget', 'apps/v1 Deployment', 'v1 Service', 'v1 Namespace', 'tekton.dev/v1 TaskRun']) {
      assert.equal(verdict(kind, { status }), 'waiting: status is not an object', kind);
    }
  }
  for (const metadata of [null, 'm', []]) {
    assert.equal(verdict('Widget', { metadata }), 'waiting: metadata is not an object');
  }
});

test('counts and texts of another form are not taken for others', () => {
  const deployment = (fields: object, is: string, spec: object = {}) =>
    ['apps/v1 Deployment', { spec, status: { ...deployed, ...fields } }, is] as const;
  const daemons = { observedGeneration: 2, desiredNumberScheduled: 1, updatedNumberScheduled: 1, numberAvailable: 1 };
  const set = { observedGeneration: 2, readyReplicas: 1, currentRevision: 'a', updateRevision: 'a' };
  check([
    deployment({}, 'ready'),
    deployment({ updatedReplicas: '1' }, 'waiting: status.updatedReplicas is not a number'),
    deployment({ updatedReplicas: null }, 'waiting: status.updatedReplicas is not a number'),
    deployment({ replicas: '1' }, 'waiting: status.replicas is not a number'),
    deployment({ replicas: null }, 'waiting: status.replicas is not a number'),
    deployment({ replicas: -1 }, 'waiting: status.replicas is negative'),
    deployment({ availableReplicas: 'all' }, 'waiting: status.availableReplicas is not a number'),
    deployment({ availableReplicas: 1.5 }, 'waiting: status.availableReplicas is not a whole number'),
    deployment({ availableReplicas: 1n }, 'ready'),
    deployment({ observedGeneration: null }, 'waiting: status.observedGeneration is not a number'),
    deployment({}, 'waiting: spec.replicas is not a number', { replicas: '1' }),
    deployment({}, 'waiting: spec.replicas is not a number', { replicas: null }),
    [
      'apps/v1 StatefulSet',
      { status: { ...set, readyReplicas: '1' } },
      'waiting: status.readyReplicas is not a number',
    ],
    [
      'apps/v1 StatefulSet',
      { status: { ...set, currentRevision: null } },
      'waiting: status.currentRevision is not a text',
    ],
    [
      'apps/v1 StatefulSet',
      { spec: { updateStrategy: 'OnDelete' }, status: set },
      'waiting: spec.updateStrategy is not an object',
    ],
    [
      'apps/v1 StatefulSet',
      { spec: { updateStrategy: { rollingUpdate: { partition: '1' } } }, status: set },
      'waiting: spec.updateStrategy.rollingUpdate.partition is not a number',
    ],
    [
      'apps/v1 DaemonSet',
      { status: { ...daemons, desiredNumberScheduled: '0' } },
      'waiting: status.desiredNumberScheduled is not a number',
    ],
    [
      'apps/v1 DaemonSet',
      { status: { ...daemons, desiredNumberScheduled: null } },
      'waiting: status.desiredNumberScheduled is not a number',
    ],
    [
      'apps/v1 ReplicaSet',
      { status: { observedGeneration: 2, readyReplicas: null } },
      'waiting: status.readyReplicas is not a number',
    ],
    ['batch/v1 Job', { status: { conditions: { Complete: 'True' } } }, 'waiting: status.conditions is not a list'],
    ['v1 Pod', { status: { phase: ['Succeeded'] } }, 'waiting: status.phase is not a text'],
    [
      'v1 Pod',
      { status: { phase: 'Pending', containerStatuses: 'none' } },
      'waiting: status.containerStatuses is not a list',
    ],
    ['v1 PersistentVolumeClaim', { status: { phase: null } }, 'waiting: status.phase is not a text'],
    ['v1 Namespace', { status: { phase: {} } }, 'waiting: status.phase is not a text'],
    [
      'v1 Service',
      { spec: { type: 'LoadBalancer' }, status: { loadBalancer: { ingress: 'x' } } },
      'waiting: status.loadBalancer.ingress is not a list',
    ],
    ['v1 Service', { spec: { type: ['LoadBalancer'] } }, 'waiting: spec.type is not a text'],
    [
      'autoscaling/v1 HorizontalPodAutoscaler',
      { metadata: { annotations: { 'autoscaling.alpha.kubernetes.io/conditions': '[{' } } },
      'waiting: the annotation autoscaling.alpha.kubernetes.io/conditions is not JSON',
    ],
    ['argoproj.io/v1alpha1 Workflow', { status: { phase: ['Succeeded'] } }, 'waiting: status.phase is not a text'],
    ['argoproj.io/v1alpha1 Workflow', { status: { phase: null } }, 'waiting: status.phase is not a text'],
    ['ceph.rook.io/v1 CephCluster', { status: { ceph: 'HEALTH_OK' } }, 'waiting: status.ceph is not an object'],
    ['snapshot.storage.k8s.io/v1 VolumeSnapshot', { status: { readyToUse: 'true' } }, 'waiting: readyToUse is true'],
    [
      'zookeeper.pravega.io/v1 ZookeeperCluster',
      { status: { readyReplicas: '3', replicas: '3' } },
      'waiting: status.readyReplicas is not a number',
    ],
    [
      'opentelemetry.io/v1 OpenTelemetryCollector',
      { status: { scale: { statusReplicas: '3' } } },
      'waiting: scale.statusReplicas is 3',
    ],
    [
      'argoproj.io/v1alpha1 Rollout',
      { status: { observedGeneration: '2', phase: 1 } },
      'waiting: status.phase is not a text',
    ],
    ['toString', { apiVersion: 'v1', status: {} }, 'ready'],
    [
      'constructor',
      { apiVersion: 'v1', status: { conditions: [{ type: 'Ready', status: 'False' }] } },
      'waiting: Ready is not True: no reason given',
    ],
  ]);
});

test('a status of very many conditions is read in one pass, and long texts are cut', () => {
  const many = Array.from({ length: 100_000 }, (_, i) => ({ type: `T${i}`, status: 'True', observedGeneration: 2 }));
  const started = process.cpuUsage();
  for (const kind of ['Widget', 'kyverno.io/v1 Policy', 'numaflow.numaproj.io/v1 Pipeline', 'v1 Pod']) {
    verdict(kind, { status: { phase: 'Running', conditions: [...many, isReady] } });
    verdict(kind, {
      status: { phase: 'Running', conditions: [isReady, ...many.map((each) => ({ ...each, type: 'x' }))] },
    });
  }
  verdict('gateway.networking.k8s.io/v1 HTTPRoute', { status: { parents: many } });
  assert.ok(process.cpuUsage(started).user < 5_000_000);
  const message = 'm'.repeat(1_000_000);
  assert.ok(verdict('Widget', { status: { conditions: [{ type: 'Ready', status: 'False', message }] } }).length < 2000);
  assert.ok(verdict('v1 Pod', { status: { phase: message } }).length < 2000);
  const named = { status: { phase: 'Running', conditions: [{ type: message, status: 'False' }] } };
  assert.ok(verdict('numaflow.numaproj.io/v1 Pipeline', named).length < 2000);
  assert.ok(verdict('argoproj.io/v1alpha1 Workflow', { status: { phase: message } }).length < 2000);
});
