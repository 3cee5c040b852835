// Which verb an upgrade is judged by, asked of a real kube-apiserver and of the gateway alike: five users, each with
// one verb or two, at the API server by its RBAC, at the gateway by its rules. Nothing that is asked for exists, so
// whoever is let in is told 404, and a watch is 101.
// Landing tier: an upgrade takes the right to what it does.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openRaw, requestBytes, upgradeLines } from '../../site/raw-client.ts';
import type { Endpoint } from '../../site/raw-client.ts';
import { rulesText } from '../../site/site.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const users: Readonly<Record<string, readonly string[]>> = {
  create: ['create'],
  get: ['get'],
  list: ['list'],
  watch: ['watch'],
  both: ['get', 'create'],
};
const subresources = ['exec', 'attach', 'portforward', 'log', 'proxy'].map((name) => `pods/${name}`);
const resources = ['secrets', ...subresources, 'services/proxy', 'nodes/proxy'];
const folder = tempDir('verbs');
let plane: ControlPlane;
let gateway: GatewayProcess;

before(async () => {
  plane = await startControlPlane({ members: ['m1'] });
  const all = Object.keys(users);
  await plane.member('m1').apply(
    ...all.flatMap((name) => [
      rbac('ClusterRole', name, { rules: [{ apiGroups: [''], resources, verbs: users[name] }] }),
      binding(`judge-${name}`, name, [{ kind: 'User', name: `judge-${name}` }]),
    ]),
    // Through the gateway nothing is left to the member to refuse.
    binding(
      'everything',
      'cluster-admin',
      all.map((name) => ({ kind: 'User', name })),
    ),
  );
  const rules = join(folder, 'rules.yaml');
  const rule = (name: string): object => ({
    subjects: [{ kind: 'User', name }],
    verbs: users[name],
    apiGroups: [''],
    resources,
  });
  writeFileSync(rules, rulesText(all.map(rule)));
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: all.map((name) => ({ token: `${name}-token`, name })),
    args: ['--authorization-rules', rules],
  });
});
after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

function rbac(kind: string, name: string, more: object): object {
  return { apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata: { name: `verbs-${name}` }, ...more };
}

function binding(name: string, role: string, subjects: readonly object[]): object {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
  if (role !== 'cluster-admin') roleRef.name = `verbs-${role}`;
  const named = subjects.map((subject) => ({ apiGroup: 'rbac.authorization.k8s.io', ...subject }));
  return rbac('ClusterRoleBinding', name, { roleRef, subjects: named });
}

/** Names of those who are not refused. */
async function whoPasses(line: string, token: string, ask: (name: string) => Asking): Promise<string> {
  const passed: string[] = [];
  for (const name of Object.keys(users)) {
    const { endpoint, options, prefix, lines } = ask(name);
    const client = await openRaw(endpoint, options);
    const [method = '', path = ''] = line.split(' ');
    // kube-apiserver's watches refuse a WebSocket without an origin.
    const headers = ['Origin: https://portcullis.test', ...lines, ...upgradeLines(token)];
    client.send(requestBytes(`${method} ${prefix}${path}`, headers));
    const { status, body } = await client.answer();
    client.close();
    assert.ok([101, 403, 404, 503].includes(status), `${line} as ${name}: ${status} ${body}`);
    if (status !== 403) passed.push(name);
  }
  return passed.join(' ');
}

interface Asking {
  readonly endpoint: Endpoint;
  readonly options: Parameters<typeof openRaw>[1];
  readonly prefix: string;
  readonly lines: readonly string[];
}

const throughGateway = (name: string): Asking => ({
  endpoint: { port: gateway.port, ca: gateway.caPem },
  options: {},
  prefix: '/clusters/m1/proxy',
  lines: [`Authorization: Bearer ${name}-token`],
});

function direct(name: string): Asking {
  const { url, caPem, adminCertPem, adminKeyPem } = plane.member('m1');
  return {
    endpoint: { port: Number(new URL(url).port), ca: caPem },
    options: { cert: adminCertPem, key: adminKeyPem },
    prefix: '',
    lines: [`Impersonate-User: judge-${name}`],
  };
}

const namespace = '/api/v1/namespaces/default';

for (const [line, token] of [
  [`GET ${namespace}/secrets?watch=true`, 'websocket'],
  ['GET /api/v1/secrets?watch=1', 'websocket'],
  ['GET /api/v1/watch/secrets', 'websocket'],
  [`GET ${namespace}/pods/web/log?follow=true`, 'websocket'],
  [`GET ${namespace}/services/web/proxy/socket`, 'websocket'],
  [`POST ${namespace}/services/web/proxy/socket`, 'SPDY/3.1'],
  [`GET ${namespace}/pods/web/proxy/socket`, 'websocket'],
] as const) {
  test(`an upgrade is judged as kube-apiserver judges it: ${line} (ATT-42)`, async () => {
    const expected = await whoPasses(line, token, direct);
    assert.notEqual(expected, '');
    assert.equal(await whoPasses(line, token, throughGateway), expected);
  });
}

for (const subresource of ['exec?command=id', 'attach', 'portforward'])
  test(`whoever kube-apiserver lets start ${subresource} may create here, by GET and by POST (ATT-42)`, async () => {
    const path = `${namespace}/pods/web/${subresource}`;
    assert.equal(await whoPasses(`GET ${path}`, 'websocket', direct), 'both');
    assert.equal(await whoPasses(`POST ${path}`, 'SPDY/3.1', direct), 'create both');
    for (const line of [`GET ${path}`, `POST ${path}`])
      assert.equal(await whoPasses(line, 'websocket', throughGateway), 'create both');
  });

test('an upgrade on nodes/proxy takes more than kube-apiserver asks for (ATT-42)', async () => {
  const line = 'GET /api/v1/nodes/n1/proxy/exec/default/web/main?command=id';
  assert.equal(await whoPasses(line, 'websocket', direct), 'get both');
  assert.equal(await whoPasses(line, 'websocket', throughGateway), 'create both');
});
