// Which verb an upgrade is judged by. A rule that lets somebody create Secrets is none that lets them watch Secrets, so
// an upgrade has the verb of the request without it; what starts something in a container has `create`. Rules, the
// hub's review and the audit log are all asked the same.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { startPretendHub } from '../../site/hub.ts';
import type { PretendHub } from '../../site/hub.ts';
import { openRaw, requestBytes, upgradeLines } from '../../site/raw-client.ts';
import { startSite } from '../../site/site.ts';
import { waitFor } from '../../site/polling.ts';
import type { Site } from '../../site/site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const proxied = '/clusters/m1/proxy';
const namespace = `${proxied}/api/v1/namespaces/default`;
const resources = [
  'secrets',
  'widgets',
  'pods',
  ...['exec', 'attach', 'portforward', 'log', 'proxy'].map((name) => `pods/${name}`),
  'services/proxy',
  'nodes/proxy',
  'machines/portforward',
];
const verbs = ['create', 'get', 'list', 'watch'] as const;
const switching =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n{"type":"ADDED","object":{"kind":"Secret"}}';
const auditFolder = tempDir('verbs');
const auditPolicyFile = join(auditFolder, 'policy.yaml');
const auditLogPath = join(auditFolder, 'audit.log');
let site: Site;
let hub: PretendHub;
let hubSite: Site;

before(async () => {
  site = await startSite({
    users: verbs.map((verb) => ({ token: `${verb}-token`, name: verb })),
    rules: verbs.map((verb) => ({
      subjects: [{ kind: 'User', name: verb }],
      verbs: [verb],
      apiGroups: ['*'],
      resources,
    })),
  });
  hub = await startPretendHub({});
  writeFileSync(auditPolicyFile, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n');
  hubSite = await startSite({
    users: [{ token: 'get-token', name: 'get' }],
    config: { hubKubeconfig: hub.kubeconfig, sources: 'kubeconfig', auditPolicyFile, auditLogPath },
  });
  for (const each of [site, hubSite]) each.members[0]!.answer = ({ socket }) => void socket.write(switching);
});
after(() => {
  hubSite?.close();
  hub?.close();
  site?.close();
});
afterEach(() => void site.members[0]!.requests.splice(0));

/** What each of four users is answered, each of whom has one verb on everything that is asked for. */
async function whoPasses(line: string): Promise<string> {
  const passed: string[] = [];
  for (const verb of verbs) {
    const client = await openRaw(site);
    client.send(requestBytes(line, [`Authorization: Bearer ${verb}-token`, ...upgradeLines('websocket')]));
    const { status } = await client.answer();
    if (status === 101) passed.push(verb);
    else {
      assert.equal(status, 403, `${line} as ${verb}`);
      assert.doesNotMatch(client.rest(), /Secret/);
    }
    client.close();
  }
  assert.equal(site.upstream(), passed.length, 'what is refused asks nothing of the member');
  return passed.join();
}

test('a watch over WebSocket takes the right to watch, and the right to create shows no Secret (ATT-42)', async () => {
  for (const target of [
    `${namespace}/secrets?watch=1`,
    `${proxied}/api/v1/secrets?watch=true`,
    `${proxied}/api/v1/watch/secrets`,
    `${proxied}/api/v1/watch/namespaces/default/secrets/db`,
    `${proxied}/apis/example.com/v1/widgets?watch=1`,
    // A path no server has: its words do not make it something else.
    `${proxied}/api/v1/watch/namespaces/default/pods/web/exec`,
  ]) {
    assert.equal(await whoPasses(`GET ${target}`), 'watch', target);
    site.members[0]!.requests.splice(0);
  }
});

test('logs over WebSocket take the right to get them (ATT-42)', async () => {
  assert.equal(await whoPasses(`GET ${namespace}/pods/web/log?follow=true`), 'get');
});

test('what is started in a container over WebSocket takes the right to create, by GET and by POST (ATT-42)', async () => {
  for (const method of ['GET', 'POST']) {
    for (const path of [
      ...['exec', 'attach', 'portforward'].map((name) => `${namespace}/pods/web/${name}`),
      `${proxied}/apis/example.com/v1/namespaces/default/machines/vm/portforward`,
      // The kubelet upgrades nothing but exec, attach and port-forward.
      `${proxied}/api/v1/nodes/n1/proxy/exec/default/web/main?command=id`,
    ]) {
      assert.equal(await whoPasses(`${method} ${path}`), 'create', `${method} ${path}`);
      site.members[0]!.requests.splice(0);
    }
  }
});

test('an application behind services/proxy or pods/proxy is upgraded to by the verb of the method (ATT-42)', async () => {
  for (const path of [`${namespace}/services/web/proxy/socket`, `${namespace}/pods/web/proxy/socket`]) {
    assert.equal(await whoPasses(`GET ${path}`), 'get', path);
    site.members[0]!.requests.splice(0);
    assert.equal(await whoPasses(`POST ${path}`), 'create', path);
    site.members[0]!.requests.splice(0);
  }
});

test('the hub is asked about the same verb, and the audit log says it (ATT-42)', async () => {
  for (const [target, asked, audited] of [
    [`${namespace}/secrets?watch=1`, 'watch', 'watch'],
    [`${namespace}/pods/web/log?follow=true`, 'get', 'get'],
    // The cluster's own audit log has the verb of the method for it.
    [`${namespace}/pods/web/exec?command=id`, 'create', 'get'],
  ] as const) {
    hub.reviews.splice(0);
    const client = await openRaw(hubSite);
    client.send(requestBytes(`GET ${target}`, ['Authorization: Bearer get-token', ...upgradeLines('websocket')]));
    const answer = await client.answer();
    assert.equal(answer.status, 101, target);
    const verbsAsked = hub.reviews.map(({ resourceAttributes }) => resourceAttributes?.['verb']);
    assert.deepEqual(verbsAsked, [asked], target);
    client.close();
    const auditId = answer.values('audit-id')[0]!;
    const event = await waitFor(() =>
      readFileSync(auditLogPath, 'utf8')
        .split('\n')
        .find((each) => each.includes(auditId)),
    );
    assert.equal((JSON.parse(event) as { verb: string }).verb, audited, target);
  }
});
