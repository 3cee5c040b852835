// A secret put into every input comes out nowhere: not in the log at its most talkative, not in an answer of ours, a
// metric, the clusters API or a health check; and what people write into the log stays one line.
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const canary = 'CANARY';
const user = `Authorization: Bearer ${canary}-user`;
let site: Site;
const auditFolder = tempDir('secrets');
/** Every byte the gateway has said to a client. */
const said: string[] = [];

before(async () => {
  const auditPolicyFile = join(auditFolder, 'policy.yaml');
  writeFileSync(auditPolicyFile, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n');
  site = await startSite({
    users: [{ token: `${canary}-user`, name: 'alice' }],
    config: { probeIntervalSeconds: 0.2, auditPolicyFile, auditLogPath: join(auditFolder, 'audit.log') },
    contexts: ([first]) => {
      const secret = { ...first!, token: `${canary}-member` };
      const nobody = 'https://127.0.0.1:1';
      return [
        { ...secret, name: 'secret' },
        { ...secret, name: 'refused', server: nobody },
        { ...secret, name: 'untrusted', ca: '' },
        { ...secret, name: 'password', user: { username: 'gateway', password: `${canary}-password` } },
        {
          ...secret,
          name: 'proxied',
          cluster: { 'proxy-url': `http://${canary}-name:${canary}-proxy-password@127.0.0.1:1` },
        },
        { ...secret, name: 'half', user: { 'client-key-data': Buffer.from(`${canary}-key`).toString('base64') } },
        { ...secret, name: 'broken', user: { token: `${canary}\nsplit` } },
        { ...secret, name: 'userinfo', server: `https://gateway:${canary}-userinfo@127.0.0.1:1` },
        {
          ...secret,
          name: 'plugin',
          user: {
            exec: {
              apiVersion: 'client.authentication.k8s.io/v1',
              interactiveMode: 'Never',
              command: '/bin/sh',
              args: ['-c', `echo "${canary}-output"; echo "$SECRET token=${canary}-complaint" >&2; exit 1`],
              env: [{ name: 'SECRET', value: `${canary}-environment` }],
            },
          },
        },
      ];
    },
  });
});
after(() => {
  site.close();
});
beforeEach(() => {
  site.members[0]!.answer = (request) => void request.body.then(() => request.reply(200, [], '{}'));
});

async function ask(line: string, headers: readonly string[] = [], body = ''): Promise<number> {
  const client = await openRaw(site);
  client.send(requestBytes(line, headers, body));
  const answer = await client.answer({ method: line.slice(0, line.indexOf(' ')) });
  said.push(answer.head, answer.body);
  client.close();
  return answer.status;
}

function assertNowhere(where: string, text: string): void {
  const at = text.indexOf(canary);
  assert.equal(at, -1, `${where}: …${text.slice(Math.max(0, at - 200), at + 100)}…`);
}

const pods = '/clusters/m1/proxy/api/v1/pods';

test('secrets of callers are in no answer and no line of the log (ATT-32)', async () => {
  const item = `base64url.bearer.authorization.k8s.io.${Buffer.from(`${canary}-user`).toString('base64url')}`;
  const wrongItem = `base64url.bearer.authorization.k8s.io.${canary}`;
  assert.equal(await ask(`GET ${pods}?token=${canary}-query&access_token=${canary}`, [user]), 200);
  for (const headers of [
    [`Authorization: Bearer ${canary}-unknown`],
    [`Authorization: Basic ${Buffer.from(`a:${canary}`).toString('base64')}`, `Cookie: session=${canary}`],
    [`Authorization: ${canary}`],
    [`Authorization: Bearer  ${canary}`],
    [`Authorization: Bearer ${canary}\x00`],
    [user, user],
    [user, `X-Remote-User: ${canary}`, `Proxy-Authorization: ${canary}`, `X-${canary}: ${canary}`],
    [user, `Content-Length: ${canary}`],
    [user, `Transfer-Encoding: ${canary}`],
    [user, `Expect: ${canary}`],
    [user, `Upgrade: ${canary}`, 'Connection: Upgrade'],
    [...upgradeLines('websocket').slice(0, -1), `Sec-WebSocket-Protocol: ${wrongItem}, v5`],
    [...upgradeLines('websocket').slice(0, -1), `Sec-WebSocket-Protocol: ${wrongItem}`],
    [...upgradeLines('websocket').slice(0, -1), `Sec-WebSocket-Protocol: ${item}, ${item}`],
    [user, `Audit-Id: ${canary} ${canary}`],
    [`${canary}`],
  ]) {
    await ask(`GET ${pods}?token=${canary}`, headers);
  }
  for (const target of [
    `https://user:${canary}@gateway.test${pods}`,
    `${pods}#access_token=${canary}`,
    `/clusters/m1/proxy/../x?${canary}`,
    `/nowhere?${canary}`,
    `/readyz?verbose&${canary}`,
  ]) {
    await ask(`GET ${target}`);
    await ask(`GET ${target}`, [user]);
  }
  await ask(`CONNECT user:${canary}@gateway.test:443`, [user]);
  await ask(`POST ${pods}`, [user, `Content-Length: ${canary.length}`], canary);
  await ask(`POST ${pods}`, ['Transfer-Encoding: chunked', user], `${canary}\r\n\r\n`);
  for (const text of said) assertNowhere('an answer', text);
  assertNowhere('the log', site.log());
  const audit = await waitFor(() => {
    const text = readFileSync(join(auditFolder, 'audit.log'), 'utf8');
    return text.includes('REDACTED') && text.includes('"code":401') && text.includes('"verb":"create"') && text;
  });
  assertNowhere('the audit log', audit);
});

test('secrets of members are in no answer and no line of the log, whatever is wrong with the member (ATT-32)', async () => {
  const names = ['secret', 'refused', 'untrusted', 'password', 'proxied', 'half', 'broken', 'userinfo', 'plugin'];
  for (const status of [401, 403, 500, 301]) {
    site.members[0]!.answer = (request) => request.reply(status, ['Location: /x'], '{}');
    for (const name of names) await ask(`GET /clusters/${name}/proxy/api/v1/pods`, [user]);
    for (const name of names) {
      await ask(`GET /clusters/${name}/proxy/api/v1/namespaces/a/pods/b/exec`, [user, ...upgradeLines('websocket')]);
    }
  }
  site.members[0]!.answer = ({ socket }) => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${canary}\r\n\r\n`);
  await ask(`GET ${pods}`, [user]);
  site.members[0]!.answer = ({ socket }) => void socket.write(`${canary} ${canary}\r\n\r\n`);
  await ask(`GET ${pods}`, [user]);
  assert.ok(said.some((text) => text.includes('refused')));
  for (const text of said) assertNowhere('an answer', text);
  assertNowhere('the log', site.log());
});

test('secrets in edits that cannot be used are not quoted (ATT-32)', async () => {
  const { kubeconfig, tokens } = site.files;
  const good = readFileSync(tokens, 'utf8');
  site.replace(tokens, `${good}${canary}-csv,"bob\n${canary}`);
  site.replace(kubeconfig, `${readFileSync(kubeconfig, 'utf8')}\n  token: [${canary}-yaml`);
  const { length } = site.log();
  await waitFor(
    () => /tokens.csv.*bad edit/.test(site.log().slice(length)) && /kubeconfig.yaml:\d/.test(site.log().slice(length)),
  );
  await ask('GET /readyz?verbose', [user]);
  assert.match(said.at(-1)!, /bad edit/);
  assertNowhere('readyz', said.at(-1)!);
  assertNowhere('the log', site.log());
  site.replace(tokens, good);
});

test('the clusters API, metrics, discovery and health tell none (ATT-32)', async () => {
  const api = '/apis/gateway.portcullis.io/v1alpha1/clusters';
  const list = await exchange(site, requestBytes(`GET ${api}`, [user]));
  const found = (JSON.parse(list.body) as { items: { metadata: { name: string } }[] }).items;
  assert.equal(found.length, 10);
  assertNowhere('clusters', list.body);
  const table = 'Accept: application/json;as=Table;g=meta.k8s.io;v=v1';
  assertNowhere('Table', (await exchange(site, requestBytes(`GET ${api}?includeObject=Object`, [user, table]))).body);
  for (const path of [
    '/version',
    '/apis',
    '/openapi/v3',
    '/readyz?verbose',
    ...found.map((one) => `${api}/${one.metadata.name}`),
  ])
    assertNowhere(path, (await exchange(site, requestBytes(`GET ${path}`, [user]))).body);
  for (const path of ['/metrics', '/readyz?verbose', '/livez', '/healthz', '/nothing']) {
    assertNowhere(path, await (await fetch(`${site.gateway.opsUrl}${path}`)).text());
  }
});

test('the user name and path of a request stay one line of the log (ATT-32)', async () => {
  const before = site.log().length;
  await ask(`GET /clusters/m1/proxy/a%0a{"level":"fatal"}"x\\`, [user]);
  await ask(`GET /clusters/m1/proxy/a%0d%0a%1b[31m`, [user]);
  const lines = site.log().slice(before).trim().split('\n');
  for (const line of lines) assert.notEqual((JSON.parse(line) as { level: string }).level, 'fatal');
});

test('the check sees a secret that does come out (ATT-32)', () => {
  assert.throws(() => assertNowhere('here', `x ${canary} y`));
  appendFileSync(site.files.rules, '');
  assert.ok(site.log().length > 1000);
});
