// Pods and workloads in many states for comparing tables with a real kube-apiserver's. A state that no kubelet or
// controller would write is refused by kube-apiserver.
import { inNamespace, labels, later, ns, time } from './table-object.ts';
import type { TableOptions, TableObject } from './table-object.ts';

const containers = [
  { name: 'one', image: 'registry.test/one:1' },
  { name: 'two', image: 'registry.test/two' },
];
const template = { metadata: { labels }, spec: { containers, nodeSelector: { disk: 'ssd', arch: 'x' } } };
const always = { metadata: { labels }, spec: { containers, restartPolicy: 'Always' } };
const selector = { matchLabels: labels };
const started = { running: { startedAt: time } };
const container = (name: string, state: object, more: object = {}): object => ({
  name,
  image: 'i',
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
  ...more,
});
const ended = (exitCode: number, more: object = {}): object => ({
  terminated: { exitCode, finishedAt: time, ...more },
});

export function podObjects(): readonly TableObject[] {
  const pod = inNamespace('v1', 'Pod', 'pods');
  const init = [
    { name: 'first', image: 'i' },
    { name: 'side', image: 'i', restartPolicy: 'Always' },
  ];
  const spec = { containers, nodeName: 'n1' };
  const both = (one: object, two: object, more: object = {}): TableOptions => ({
    status: {
      phase: 'Running',
      podIPs: [{ ip: '10.0.0.9' }],
      podIP: '10.0.0.9',
      ...more,
      containerStatuses: [one, two],
    },
  });
  const up = container('two', started, { ready: true, started: true });
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  return [
    pod(
      'running',
      { spec },
      both(container('one', started, { ready: true, restartCount: 2, lastState: ended(1) }), up),
    ),
    pod(
      'crash',
      { spec },
      both(container('one', { waiting: { reason: 'CrashLoopBackOff' } }, { restartCount: 4 }), up),
    ),
    pod('half-done', { spec }, both(container('one', ended(0, { reason: 'Completed' })), up)),
    pod('half-done-ready', { spec }, both(container('one', ended(0, { reason: 'Completed' })), up, ready)),
    pod('signal', { spec }, both(container('one', ended(137, { signal: 9 })), up)),
    pod('code', { spec }, both(container('one', ended(0, { reason: 'Completed' })), container('two', ended(3)))),
    pod('evicted', { spec }, { status: { phase: 'Failed', reason: 'Evicted' } }),
    pod('done', { spec }, { status: { phase: 'Succeeded' } }),
    pod('gated', { spec: { containers, schedulingGates: [{ name: 'x.io/gate' }] } }),
    pod('deleting', { spec }, { status: { phase: 'Running' }, metadata: { finalizers: ['x.io/hold'] } }),
    pod(
      'gates',
      { spec: { containers, readinessGates: [{ conditionType: 'x.io/a' }, { conditionType: 'x.io/b' }] } },
      { status: { conditions: [{ type: 'x.io/a', status: 'True' }], nominatedNodeName: 'n2' } },
    ),
    pod(
      'init',
      { spec: { ...spec, initContainers: init } },
      { status: { initContainerStatuses: [container('first', { waiting: { reason: 'ErrImagePull' } })] } },
    ),
    pod(
      'init-running',
      { spec: { ...spec, initContainers: init } },
      { status: { initContainerStatuses: [container('first', started, { restartCount: 3, lastState: ended(2) })] } },
    ),
    pod(
      'side',
      { spec: { ...spec, initContainers: init } },
      {
        status: {
          phase: 'Running',
          initContainerStatuses: [
            container('first', ended(0), { restartCount: 5 }),
            container('side', started, { ready: true, started: true, restartCount: 1 }),
          ],
          containerStatuses: [container('one', started, { ready: true })],
        },
      },
    ),
  ];
}

export function workloadObjects(): readonly TableObject[] {
  const job = inNamespace('batch/v1', 'Job', 'jobs');
  const jobSpec = { template: { spec: { containers, restartPolicy: 'Never' } } };
  const autoscaler = inNamespace('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers');
  const target = { scaleTargetRef: { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' }, maxReplicas: 9 };
  const resource = (name: string, wanted: object): object => ({ type: 'Resource', resource: { name, target: wanted } });
  const utilization = { type: 'Utilization', averageUtilization: 80 };
  const metric = { name: 'requests' };
  return [
    inNamespace('apps/v1', 'Deployment', 'deployments')(
      'web',
      { spec: { replicas: 3, selector, template } },
      { status: { replicas: 3, readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 } },
    ),
    inNamespace('apps/v1', 'ReplicaSet', 'replicasets')(
      'web',
      {
        spec: {
          replicas: 2,
          selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'a'] }] },
          template,
        },
      },
      { status: { replicas: 2, readyReplicas: 1 } },
    ),
    inNamespace('apps/v1', 'StatefulSet', 'statefulsets')(
      'db',
      { spec: { replicas: 0, serviceName: 's', selector, template: always } },
      { status: { replicas: 0 } },
    ),
    inNamespace('apps/v1', 'DaemonSet', 'daemonsets')(
      'agent',
      { spec: { selector, template } },
      {
        status: {
          desiredNumberScheduled: 5,
          currentNumberScheduled: 4,
          numberReady: 3,
          updatedNumberScheduled: 2,
          numberAvailable: 1,
          numberMisscheduled: 0,
        },
      },
    ),
    inNamespace('apps/v1', 'ControllerRevision', 'controllerrevisions')(
      'db-1',
      { revision: 7, data: { a: 1 } },
      {
        metadata: {
          ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'u', controller: true }],
        },
      },
    ),
    inNamespace('apps/v1', 'ControllerRevision', 'controllerrevisions')('db-2', { revision: 8, data: {} }),
    inNamespace(
      'v1',
      'ReplicationController',
      'replicationcontrollers',
    )('old', {
      spec: { replicas: 1, selector: labels, template: always },
    }),
    inNamespace('v1', 'PodTemplate', 'podtemplates')('plain', { template: always }),
    job('plain', { spec: jobSpec }, { status: { active: 1, startTime: time } }),
    job('wide', { spec: { ...jobSpec, parallelism: 3 } }),
    job('suspended', { spec: { ...jobSpec, suspend: true, completions: 4 } }),
    job(
      'failed',
      { spec: jobSpec },
      {
        status: {
          startTime: time,
          failed: 1,
          conditions: [
            { type: 'FailureTarget', status: 'True', lastTransitionTime: later },
            { type: 'Failed', status: 'True', lastTransitionTime: later },
          ],
        },
      },
    ),
    job(
      'complete',
      { spec: jobSpec },
      {
        status: {
          startTime: time,
          completionTime: later,
          succeeded: 1,
          conditions: [
            { type: 'SuccessCriteriaMet', status: 'True', lastTransitionTime: later },
            { type: 'Complete', status: 'True', lastTransitionTime: later },
          ],
        },
      },
    ),
    inNamespace('batch/v1', 'CronJob', 'cronjobs')(
      'nightly',
      { spec: { schedule: '0 3 * * *', timeZone: 'Etc/UTC', suspend: true, jobTemplate: { spec: jobSpec } } },
      { status: { lastScheduleTime: time, active: [{ kind: 'Job', name: 'x', namespace: ns }] } },
    ),
    inNamespace(
      'batch/v1',
      'CronJob',
      'cronjobs',
    )('idle', { spec: { schedule: '@daily', jobTemplate: { spec: jobSpec } } }),
    autoscaler('plain', { spec: target }),
    autoscaler(
      'resources',
      {
        spec: {
          ...target,
          minReplicas: 2,
          metrics: [
            resource('cpu', utilization),
            resource('memory', { type: 'AverageValue', averageValue: '1536Mi' }),
            resource('cpu', utilization),
          ],
        },
      },
      {
        status: {
          currentReplicas: 3,
          desiredReplicas: 3,
          currentMetrics: [
            { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 55, averageValue: '55m' } } },
            { type: 'Resource', resource: { name: 'memory', current: { averageValue: '1Gi' } } },
          ],
        },
      },
    ),
    autoscaler('others', {
      spec: {
        ...target,
        metrics: [
          { type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: '1k' } } },
          {
            type: 'Object',
            object: {
              metric,
              describedObject: { kind: 'Service', name: 's', apiVersion: 'v1' },
              target: { type: 'Value', value: '2500m' },
            },
          },
        ],
      },
    }),
    autoscaler('external', {
      spec: {
        ...target,
        metrics: [
          { type: 'External', external: { metric, target: { type: 'AverageValue', averageValue: '30' } } },
          { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'one', target: utilization } },
        ],
      },
    }),
    inNamespace(
      'policy/v1',
      'PodDisruptionBudget',
      'poddisruptionbudgets',
    )('half', { spec: { minAvailable: '50%', selector } }),
    inNamespace(
      'policy/v1',
      'PodDisruptionBudget',
      'poddisruptionbudgets',
    )('one', { spec: { maxUnavailable: 1, selector } }),
  ];
}
