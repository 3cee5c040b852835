// Our audit events and the cluster's own of the same request say the same. Both write an event after they have
// answered, so a test waits for the last one; and the cluster records every stage here, so that a stage we do not have
// is seen.
// Landing tier: our audit log and the cluster's own side by side.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connectForwardOverSpdy, execOverSpdy, openForward } from '../../clients/spdy-client.ts';
import { UpgradeRefused } from '../../clients/upgrade-client.ts';
import type { ConnectOptions } from '../../clients/upgrade-client.ts';
import { connectForwardOverWebSocket, connectWebSocket, execOverWebSocket } from '../../clients/websocket-client.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { AuditUser, ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { auditKinds } from './audit-kinds.ts';
import { ask, kubectlAs } from '../kubectl/kubectl-as.ts';
import { boxPod, podService } from '../kubectl/pods.ts';
import { eventually } from '../../site/polling.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const users = {
  carol: { token: 'carol-at-the-gateway', name: 'carol', uid: 'carol-uid', groups: ['stream-admins', 'grüße'] },
  bob: { token: 'bob-at-the-gateway', name: 'bob', uid: '', groups: [] },
  root: { token: 'root-at-the-gateway', name: 'root', uid: '', groups: ['admins'] },
};
const rules = {
  apiVersion: 'gateway.portcullis.io/v1alpha1',
  kind: 'AuthorizationRules',
  rules: [
    {
      subjects: [{ kind: 'Group', name: 'system:authenticated' }],
      verbs: ['get', 'head', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
      apiGroups: ['*'],
      resources: ['*'],
      nonResourceURLs: ['*'],
    },
    {
      subjects: [{ kind: 'Group', name: 'admins' }],
      verbs: ['impersonate'],
      apiGroups: ['', 'authentication.k8s.io'],
      resources: ['users', 'groups', 'uids'],
    },
  ],
};
const policy = JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] });
const prefix = '/clusters/m1/proxy';
const core = '/api/v1/namespaces/default';

interface Event {
  readonly kind: string;
  readonly apiVersion: string;
  readonly level: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser;
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: object;
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const folder = tempDir('audit');
let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess;
let ourLog: string;

before(async () => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const policyFile = file('policy.json', policy);
  plane = await startControlPlane({
    members: ['m1'],
    controllerManager: true,
    kubelet: true,
    apiserverArgs: [`--audit-policy-file=${policyFile}`],
  });
  member = plane.member('m1');
  ourLog = join(folder, 'audit.log');
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: Object.values(users),
    args: [
      ...['--audit-policy-file', policyFile, '--audit-log-path', ourLog],
      ...['--authorization-rules', file('rules.json', JSON.stringify(rules))],
    ],
  });
  await member.apply(boxPod('box', 'default'), podService('box', 'default'));
  const ready = await member.kubectl(['wait', '--for=condition=Ready', 'pod/box', '--timeout=60s']);
  assert.equal(ready.code, 0, ready.stderr);
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

function eventsOf(log: string, userAgent: string): readonly Event[] {
  return readFileSync(log, 'utf8')
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.includes(`"userAgent":"${userAgent}"`))
    .map((line) => JSON.parse(line) as Event);
}

/** Events of both sides of the one request with this User-Agent, once both have its last. */
function bothSides(userAgent: string): Promise<{ ours: readonly Event[]; theirs: readonly Event[] }> {
  const isOver = (events: readonly Event[]): boolean => events.some(({ stage }) => stage === 'ResponseComplete');
  return eventually(`the events of ${userAgent}`, () => {
    const ours = eventsOf(ourLog, userAgent);
    const theirs = eventsOf(member.auditLog, userAgent);
    return isOver(ours) && isOver(theirs) && { ours, theirs };
  });
}

const person = (user: AuditUser | undefined): object => ({
  ...user,
  groups: user?.groups?.toSorted(),
});

/** What must be the same on both sides; the prefix is ours, the gateway's own credential theirs. */
function shared(event: Event, isOurs: boolean): object {
  const { kind, apiVersion, level, auditID, stage, verb, userAgent, objectRef, responseStatus } = event;
  const requestURI = isOurs ? event.requestURI.slice(prefix.length) : event.requestURI;
  // Before the cluster has impersonated, its event has the gateway alone.
  const caller = isOurs ? (event.impersonatedUser ?? event.user) : event.impersonatedUser;
  return {
    ...{ kind, apiVersion, level, auditID, stage, verb, userAgent, objectRef, requestURI },
    ...(stage === 'RequestReceived' ? {} : { code: responseStatus?.code, user: person(caller) }),
  };
}

async function assertSame(userAgent: string, code: number): Promise<readonly Event[]> {
  const { ours, theirs } = await bothSides(userAgent);
  assert.deepEqual(
    ours.map((event) => shared(event, true)),
    theirs.map((event) => shared(event, false)),
  );
  assert.ok(ours.every(({ requestURI }) => requestURI.startsWith(`${prefix}/`)));
  assert.equal(ours.at(-1)?.responseStatus?.code, code);
  assert.equal(ours.at(-1)?.annotations?.['gateway.portcullis.io/cluster'], 'm1');
  assert.equal(ours.at(-1)?.annotations?.['authorization.k8s.io/decision'], 'allow');
  return ours;
}

test('there are at least 30 kinds of requests, each of them another one', () => {
  assert.ok(auditKinds.length >= 30);
  assert.equal(new Set(auditKinds.map(({ name }) => name)).size, auditKinds.length);
});

for (const [i, kind] of auditKinds.entries()) {
  test(`our events and the cluster's own are equal: ${kind.name}`, async () => {
    const userAgent = `audit-kind/${i}`;
    const { token } = users[kind.as ?? 'carol'];
    const headers: Readonly<Record<string, string>> = { 'user-agent': userAgent, ...kind.headers };
    const answer = await ask(gateway, token, kind.method, prefix + kind.path, kind.body, headers);
    assert.equal(answer.status, kind.code, answer.body.toString());
    const events = await assertSame(userAgent, kind.code);
    assert.deepEqual(answer.headers['audit-id'], events[0]!.auditID);
    if (headers['impersonate-user'] === undefined) assert.equal(events.at(-1)!.impersonatedUser, undefined);
    else assert.equal(events.at(-1)!.user.username, 'root');
  });
}

function raw(userAgent: string): ConnectOptions {
  const headers = [
    ['Authorization', `Bearer ${users.carol.token}`],
    ['User-Agent', userAgent],
    ['Origin', 'https://portcullis.test'],
  ] as const;
  return { host: '127.0.0.1', port: gateway.port, ca: gateway.caPem, headers };
}

/** The stages of an upgrade, and that its bytes were counted. */
function assertSession(events: readonly Event[], fromClient: number, toClient: number): void {
  assert.deepEqual(
    events.map(({ stage }) => stage),
    ['RequestReceived', 'ResponseStarted', 'ResponseComplete'],
  );
  const { annotations = {} } = events.at(-1)!;
  assert.ok(Number(annotations['gateway.portcullis.io/bytes-from-client']) >= fromClient, JSON.stringify(annotations));
  assert.ok(Number(annotations['gateway.portcullis.io/bytes-to-client']) >= toClient, JSON.stringify(annotations));
  assert.equal(events[1]!.annotations?.['gateway.portcullis.io/bytes-to-client'], undefined);
}

for (const [name, run] of [
  ['WebSocket', execOverWebSocket],
  ['SPDY', execOverSpdy],
] as const) {
  test(`our events and the cluster's own are equal: exec over ${name}, begin and end, with the bytes of both directions`, async () => {
    const userAgent = `audit-exec/${name}`;
    const command = ['sh', '-c', 'head -c 5000; echo; seq 1 2000'];
    const session = await run(raw(userAgent), { path: `${prefix}${core}/pods/box/exec`, command, stdin: true });
    const started = await eventually('the beginning of the session', () => {
      const events = eventsOf(ourLog, userAgent);
      return events.length === 2 && events;
    });
    assert.equal(started[1]!.stage, 'ResponseStarted', 'told while the session is open');
    await session.write(Buffer.alloc(5000, 'x'));
    assert.equal((await session.result).exitCode, 0);
    session.close();
    const events = await assertSame(userAgent, 101);
    assertSession(events, 5000, 5000 + 8000);
    assert.match(events[0]!.requestURI, /command=sh&command=-c&command=head/);
  });
}

test("our events and the cluster's own are equal: port-forward, watch and log over an upgrade", async () => {
  for (const [name, connect] of [
    ['WebSocket', connectForwardOverWebSocket],
    ['SPDY', connectForwardOverSpdy],
  ] as const) {
    const userAgent = `audit-forward/${name}`;
    const { session, closed } = await connect(raw(userAgent), `${prefix}${core}/pods/box/portforward`);
    const { data } = await openForward(session, 8080, '0');
    const back = new Promise((resolve) => data.once('data', resolve));
    data.end(Buffer.from('\0echo'));
    await back;
    session.close();
    await closed;
    assertSession(await assertSame(userAgent, 101), 5, 5);
  }
  for (const [name, path, protocols] of [
    ['watch', '/limitranges?watch=true&timeoutSeconds=1', []],
    ['log', '/pods/box/log', ['binary.k8s.io']],
  ] as const) {
    const closed = Promise.withResolvers<void>();
    const events = { onMessage: () => undefined, onClose: () => closed.resolve() };
    const userAgent = `audit-${name}/WebSocket`;
    await connectWebSocket(raw(userAgent), { target: `${prefix}${core}${path}`, protocols }, events);
    await closed.promise;
    await assertSame(userAgent, 101);
  }
});

test("our events and the cluster's own are equal: an exec the cluster refuses", async () => {
  const call = { path: `${prefix}${core}/pods/none/exec`, command: ['true'] };
  for (const [name, run] of [
    ['WebSocket', execOverWebSocket],
    ['SPDY', execOverSpdy],
  ] as const) {
    await assert.rejects(run(raw(`audit-refused/${name}`), call), UpgradeRefused);
    await assertSame(`audit-refused/${name}`, 404);
  }
});

test("our events and the cluster's own are equal: every request of kubectl, which speaks HTTP/2", async () => {
  for (const args of [
    ['get', 'pods', '-o', 'wide'],
    ['create', 'configmap', 'by-kubectl', '--from-literal=a=b'],
    ['label', 'configmap', 'by-kubectl', 'a=b'],
    ['exec', 'box', '--', 'true'],
    ['delete', 'configmap', 'by-kubectl'],
  ]) {
    const result = await kubectlAs(plane.binaries['kubectl']!, gateway, users.carol.token, prefix, args);
    assert.equal(result.code, 0, result.stderr);
  }
  const byKubectl = (log: string, ids: ReadonlySet<string>): readonly Event[] =>
    readFileSync(log, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Event)
      .filter(
        ({ userAgent, auditID }) => userAgent?.startsWith('kubectl/') === true && (ids.size === 0 || ids.has(auditID)),
      );
  const ended = (events: readonly Event[]): number => events.filter(({ stage }) => stage === 'ResponseComplete').length;
  const ids = new Set(byKubectl(ourLog, new Set()).map(({ auditID }) => auditID));
  assert.ok(ids.size >= 8, String(ids.size));
  const { ours, theirs } = await eventually('the end of every request', () => {
    const sides = { ours: byKubectl(ourLog, ids), theirs: byKubectl(member.auditLog, ids) };
    return ended(sides.ours) === ids.size && ended(sides.theirs) === ids.size && sides;
  });
  // Requests that were under way together may be told in another order.
  const inOrder = (events: readonly Event[]): readonly Event[] =>
    events.toSorted((a, b) => (a.auditID === b.auditID ? 0 : a.auditID < b.auditID ? -1 : 1));
  assert.deepEqual(
    inOrder(ours).map((event) => shared(event, true)),
    inOrder(theirs).map((event) => shared(event, false)),
  );
  assert.ok(
    ours.some(({ verb, objectRef }) => verb === 'create' && (objectRef as { name?: string }).name === 'by-kubectl'),
  );
});

test('a request the gateway refuses is in our log alone: forbidden with the reason, and unauthenticated without a user', async () => {
  const headers = { 'user-agent': 'audit-local/as', 'impersonate-user': 'root' };
  assert.equal((await ask(gateway, users.bob.token, 'GET', `${prefix}${core}/pods`, undefined, headers)).status, 403);
  const forbidden = await eventually('the refusal', () => eventsOf(ourLog, 'audit-local/as').at(1));
  assert.equal(forbidden.stage, 'ResponseComplete');
  assert.equal(forbidden.user.username, 'bob');
  assert.equal(forbidden.annotations?.['authorization.k8s.io/decision'], 'forbid');
  assert.match(forbidden.annotations?.['authorization.k8s.io/reason'] ?? '', /no rule/);
  assert.equal(forbidden.responseStatus?.code, 403);

  const unknown = { 'user-agent': 'audit-local/unknown' };
  assert.equal((await ask(gateway, 'nobody-knows-this', 'GET', `${prefix}/version`, undefined, unknown)).status, 401);
  const event = await eventually('the event', () => eventsOf(ourLog, 'audit-local/unknown').at(0));
  assert.deepEqual([event.stage, event.user, event.responseStatus?.code], ['ResponseStarted', {}, 401]);
  assert.deepEqual(
    eventsOf(member.auditLog, 'audit-local/as').concat(eventsOf(member.auditLog, 'audit-local/unknown')),
    [],
  );
  assert.ok(!readFileSync(ourLog, 'utf8').includes('nobody-knows-this'));
});
