// Sinks of the audit log with real processes: an audit file that may not grow, a gateway that ends while its webhook is
// silent, events on standard output. A limit of the process holds for every file it writes, so nothing else may be
// written while it holds.
// Landing tier: no change is made unrecorded where a policy says to record it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { startWebhook, webhookKubeconfig } from '../../integration/audit-webhook.ts';
import type { AuditedEvent, TestWebhook } from '../../integration/audit-webhook.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const carol = { token: 'carol-at-the-gateway', name: 'carol', uid: 'carol-uid', groups: [] };
const maps = '/clusters/m1/proxy/api/v1/namespaces/default/configmaps';
const folder = tempDir('audit');
let policy: string;
let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess | undefined;
let webhook: TestWebhook | undefined;

before(async () => {
  policy = join(folder, 'policy.yaml');
  writeFileSync(policy, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n');
  plane = await startControlPlane({ members: ['m1'] });
  member = plane.member('m1');
});
afterEach(async () => {
  await gateway?.stop('SIGKILL');
  webhook?.close();
  gateway = undefined;
  webhook = undefined;
});
after(async () => {
  await plane?.stop();
});

async function start(args: readonly string[], dataDir?: string): Promise<GatewayProcess> {
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol],
    args: ['--audit-policy-file', policy, ...args],
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  return gateway;
}

/** The name stands in the path, too: the member's audit log has no name of an object that is created. */
async function create(name: string): Promise<number> {
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  return (await ask(gateway!, carol.token, 'POST', `${maps}?fieldManager=${name}`, body)).status;
}

async function list(): Promise<number> {
  return (await ask(gateway!, carol.token, 'GET', maps)).status;
}

function logged(text: string): AuditedEvent[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{"kind":"Event"'))
    .map((line) => JSON.parse(line) as AuditedEvent);
}

/** Sets how large a file the gateway may write; false where that cannot be said. */
function limitFiles(bytes: number | 'unlimited'): boolean {
  return spawnSync('prlimit', ['--pid', String(gateway!.pid), `--fsize=${bytes}:unlimited`]).status === 0;
}

test('while its file may not grow, the gateway refuses changes, which the cluster never sees, and serves reads (FLT-18)', async (t) => {
  const log = join(folder, 'limited.log');
  await start(['--audit-log-path', log]);
  assert.equal(await create('before'), 201);
  await eventually('its events', () =>
    logged(readFileSync(log, 'utf8')).some(({ responseStatus }) => responseStatus?.code === 201),
  );
  const { size } = statSync(log);
  if (!limitFiles(size + 1000)) {
    t.skip('needs prlimit of util-linux');
    return;
  }
  await eventually('a full file', async () => {
    assert.equal(await list(), 200);
    return (await create(`x${Math.random().toString(36).slice(2)}`)) === 503;
  });
  assert.equal(statSync(log).size, size + 1000, 'the last line is cut in the middle');
  const mark = await member.auditMark();
  assert.equal(await create('refused'), 503);
  assert.equal(await list(), 200);
  await member.waitForAudit(({ verb, requestURI }) => verb === 'list' && requestURI.endsWith('/configmaps'), { mark });
  const reached = (await member.audit(mark)).filter(({ requestURI }) => requestURI.endsWith('=refused'));
  assert.deepEqual(reached, []);

  assert.ok(limitFiles('unlimited'));
  await eventually('changes again', async () => (await create(`y${Math.random().toString(36).slice(2)}`)) === 201);
  assert.equal(await gateway!.stop(), 0);
  gateway = undefined;
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1);
  const events = lines.map((line) => JSON.parse(line) as AuditedEvent);
  // Every change the cluster made has its end in our log.
  const made = (await member.audit()).filter(
    ({ verb, responseStatus, impersonatedUser }) =>
      verb === 'create' && responseStatus?.code === 201 && impersonatedUser?.username === 'carol',
  );
  const ended = new Set(events.filter(({ stage }) => stage === 'ResponseComplete').map(({ auditID }) => auditID));
  assert.ok(made.length >= 2);
  assert.deepEqual(
    made.filter(({ auditID }) => !ended.has(auditID)),
    [],
  );
});

test('what a silent webhook has not taken is on disk when the gateway ends, and the next one delivers it (FLT-18)', async () => {
  webhook = await startWebhook();
  webhook.behaviour = 'silent';
  const kubeconfig = join(folder, 'webhook.yaml');
  writeFileSync(kubeconfig, webhookKubeconfig(`http://127.0.0.1:${webhook.port}/audit`));
  const dataDir = mkdtempSync(join(folder, 'data-'));
  const args = ['--audit-webhook-config-file', kubeconfig, '--audit-webhook-batch-max-wait', '100ms'];
  await start(args, dataDir);
  assert.equal(await create('kept'), 201);
  assert.equal(await list(), 200);
  await eventually('a batch', () => webhook!.received.length > 0);
  assert.equal(await gateway!.stop(), 0);
  assert.ok(readdirSync(join(dataDir, 'audit-spool')).length > 0);
  webhook.behaviour = 200;
  await start(args, dataDir);
  const events = await eventually('the events', () => webhook!.events().length >= 4 && webhook!.events());
  assert.deepEqual(
    [...new Set(events.map(({ verb, stage, objectRef }) => [verb, stage, objectRef?.name].join(' ')))].toSorted(),
    ['create RequestReceived ', 'create ResponseComplete kept', 'list RequestReceived ', 'list ResponseComplete '],
  );
  await eventually('an empty spool', () => readdirSync(join(dataDir, 'audit-spool')).length === 0);
});

test('events on standard output stand between the other lines of it', async () => {
  await start(['--audit-log-path', '-']);
  let output = '';
  gateway!.child.stdout!.on('data', (text: string) => (output += text));
  assert.equal(await list(), 200);
  await eventually('both events', () => logged(output).length === 2);
});
