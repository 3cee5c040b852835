// Commands of the kubectl matrix that wait for controllers, nodes and the scheduler: rollout status, wait, get -w,
// expose, autoscale, events, top, taint, cordon, drain, delete. Intermediate lines depend on timing, so pods are held
// back by a cordoned node.
import type { AuditEvent } from '../../controlplane/fixture.ts';
import type { Scenario } from './matrix-objects.ts';
import { stepsIn } from './matrix-steps.ts';
import { boxPod } from './pods.ts';

const deployment = (name: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, labels: {app: ${name}}}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers: [{name: web, image: "nginx:1.27", ports: [{containerPort: 80}]}]
`;

const pendingStatus =
  'jsonpath={.status.observedGeneration}/{.status.unavailableReplicas}/{.status.conditions[*].type}';

/** For someone who may edit nodes. */
export function nodes(namespace: string): Scenario {
  return async (side) => {
    const { ok, shows, fails, settled, prepare } = stepsIn(side, namespace);
    await ok(['get', 'nodes', '-o', 'name']);
    await ok(['taint', 'node', 'kwok-0', 'e2e=yes:PreferNoSchedule']);
    await fails(['taint', 'node', 'kwok-0', 'e2e=yes:PreferNoSchedule'], /already has/);
    await ok(['taint', 'node', 'kwok-0', 'e2e-']);
    await ok(['cordon', 'kwok-0']);
    await ok(['cordon', 'kwok-0']);
    await shows(['get', 'node', 'kwok-0', '-o', 'jsonpath={.spec.unschedulable}'], /^true$/);

    side.file('drained.yaml', deployment('drained'));
    await ok(['apply', '-f', 'drained.yaml']);
    await settled(['get', 'deployment', 'drained', '-o', pendingStatus], /^1\/1\/.*Progressing/);
    const status = side.start(['-n', namespace, 'rollout', 'status', 'deployment/drained', '--timeout=60s']);
    await status.until(/0 of 1 updated replicas are available/);
    await ok(['uncordon', 'kwok-0']);
    await status.finish();
    await ok(['wait', '--for=condition=Ready', 'pod', '-l', 'app=drained', '--timeout=60s']);
    await ok(['wait', '--for=condition=Available', 'deployment/drained', '--timeout=60s']);
    await fails(['wait', '--for=condition=Nonsense', 'deployment/drained', '--timeout=1s'], /timed out/);

    await fails(['drain', 'kwok-0', '--pod-selector=app=drained', '--dry-run=nonsense'], /dry-run/);
    await ok(['drain', 'kwok-0', '--pod-selector=app=drained', '--dry-run=server']);
    await ok(['drain', 'kwok-0', '--pod-selector=app=drained', '--timeout=60s']);
    await shows(['get', 'node', 'kwok-0', '-o', 'jsonpath={.spec.unschedulable}'], /^true$/);
    await ok(['uncordon', 'kwok-0']);
    await prepare('rollout', 'status', 'deployment/drained', '--timeout=60s');
    await ok(['delete', 'deployment', 'drained', '--cascade=foreground', '--timeout=60s']);
    await ok(['get', 'pods', '-l', 'app=drained']);
    await fails(['top', 'nodes'], /Metrics API not available/);
    await shows(['get', '--raw', '/api/v1/nodes/kubelet-0/proxy/healthz'], /^ok$/);
  };
}

/** For someone who may edit the namespace. */
export function workloads(namespace: string): Scenario {
  return async (side) => {
    const { ok, shows, fails, prepare } = stepsIn(side, namespace);
    side.file('web.yaml', deployment('web'));
    await ok(['apply', '-f', 'web.yaml']);
    await side.run(['-n', namespace, 'rollout', 'status', 'deployment/web', '--timeout=60s'], { silent: true });
    await ok(['rollout', 'status', 'deployment/web']);
    await ok(['expose', 'deployment', 'web', '--port=80']);
    await fails(['expose', 'deployment', 'web', '--port=80'], /already exists/);
    await ok(['autoscale', 'deployment', 'web', '--min=1', '--max=3', '--cpu=80%']);
    await shows(['get', 'hpa', 'web', '-o', 'jsonpath={.spec.maxReplicas}'], /^3$/);
    await ok(['rollout', 'restart', 'deployment/web']);
    await prepare('rollout', 'status', 'deployment/web', '--timeout=60s');
    await ok(['rollout', 'history', 'deployment/web']);
    await ok(['delete', 'hpa,service,deployment', 'web', '--cascade=foreground', '--timeout=60s']);
    await fails(['top', 'pods'], /Metrics API not available/);

    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'told', namespace },
      involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', name: 'thing', namespace },
      ...{ type: 'Warning', reason: 'Told', message: 'something happened', count: 2 },
      ...{ firstTimestamp: '2025-01-01T00:00:00Z', lastTimestamp: '2025-01-01T00:00:00Z' },
    };
    side.file('event.json', JSON.stringify(event));
    await ok(['create', '-f', 'event.json']);
    await shows(['events', '--for', 'configmap/thing'], /Told +ConfigMap\/thing +something happened/);
    await shows(
      ['events', '--types=Warning', '--for', 'configmap/thing', '-o', 'jsonpath={.items[*].reason}'],
      /^Told$/,
    );
    const watched = side.start(['-n', namespace, 'events', '--for', 'configmap/thing', '--watch']);
    await watched.until(/something happened/);
    await ok(['annotate', 'event', 'told', 'seen=yes']);
    await watched.until(/something happened[^]*something happened/);
    await watched.stop();
    await ok(['delete', 'event', 'told']);

    await side.member.apply(boxPod('seen', namespace));
    await ok(['wait', '--for=condition=Ready', 'pod/seen', '--timeout=60s']);
    await ok(['wait', '--for=jsonpath={.status.phase}=Running', 'pod/seen', '--timeout=60s']);
    const watching = side.start(['-n', namespace, 'get', 'pods', '-l', 'app=seen', '-w', '-L', 'turn']);
    await watching.until(/Running/);
    for (const turn of ['one', 'two']) {
      await ok(['label', 'pod', 'seen', `turn=${turn}`, '--overwrite']);
      await watching.until(new RegExp(turn));
    }
    await watching.stop();
    const mark = await side.member.auditMark();
    const waiting = side.start(['-n', namespace, 'wait', '--for=delete', 'pod/seen', '--timeout=60s']);
    await side.member.waitForAudit((event) => isWatchOf(event, 'seen') && event.stage === 'ResponseStarted', { mark });
    await ok(['delete', 'pod', 'seen', '--grace-period=1']);
    await waiting.finish();
  };
}

/** Whether the event is a watch of one object by its name. */
function isWatchOf({ verb, requestURI }: AuditEvent, name: string): boolean {
  return verb === 'watch' && requestURI.includes(`metadata.name%3D${name}`);
}
