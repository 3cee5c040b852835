// A configuration that cannot be used refuses to start, and says where it is wrong; a bad edit while running changes
// nothing but what the log, a metric and the authenticated readyz say.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { exchange, requestBytes } from '../site/raw-client.ts';
import { kubeconfigText, memberToken, rulesText, startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Context, Site } from '../site/site.ts';
import { startGatewayProcess, tokenLine } from '../gateway-process.ts';
import type { GatewayOptions } from '../gateway-process.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const folder = tempDir('reload');
const allowed = { subjects: [{ kind: 'User', name: 'alice' }], verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
const rules = [{ ...allowed, nonResourceURLs: ['*'] }];
const pods = '/clusters/m1/proxy/api/v1/pods';
let site: Site;

before(async () => {
  const { ca } = await makeTestAuthority();
  site = await startSite({ members: 2, users: [{ token: 'alice-token', name: 'alice' }], rules, clientCa: ca });
});
after(() => {
  site.close();
});

const status = async (path: string, token = 'alice-token'): Promise<number> =>
  (await exchange(site, requestBytes(`GET ${path}`, [`Authorization: Bearer ${token}`]))).status;
const verbose = async (): Promise<string> =>
  (await exchange(site, requestBytes('GET /readyz?verbose', ['Authorization: Bearer alice-token']))).body;
const failedFiles = async (): Promise<string[]> => {
  const text = await (await fetch(`${site.gateway.opsUrl}/metrics`)).text();
  return [...text.matchAll(/^portcullis_config_reload_failed\{file="([^"]+)"\} 1$/gm)].map(([, file]) => file!);
};

type Edited = keyof Site['files'];
const edits: readonly (readonly [name: string, file: Edited, bad: (good: string) => string, why: RegExp])[] = [
  ['a token file with too few columns', 'tokens', (good) => `${good}x,y\n`, /tokens\.csv:2.*at least 3 columns/],
  ['a token file with an open quote', 'tokens', (good) => `${good}t,bob,1,"dev\n`, /tokens\.csv:2/],
  [
    'a token file with a name of the gateway’s own',
    'tokens',
    () => 't,portcullis:probe,1\n',
    /tokens\.csv:1.*reserved/,
  ],
  ['rules that are no YAML', 'rules', (good) => `${good.slice(0, -2)}`, /rules\.yaml:1/],
  ['rules with an unknown field', 'rules', (good) => good.replace('"verbs"', '"verb"'), /rules\.yaml:1:\d+.*verb/],
  ['rules of another version', 'rules', (good) => good.replace('v1alpha1', 'v9'), /rules\.yaml:1:\d+.*apiVersion/],
  ['a kubeconfig that is no YAML', 'kubeconfig', (good) => `${good}\n  - [`, /kubeconfig\.yaml:2/],
  ['a kubeconfig that is empty', 'kubeconfig', () => '', /kubeconfig\.yaml/],
  ['a kubeconfig that is a list', 'kubeconfig', () => '[]', /kubeconfig\.yaml/],
  [
    'a kubeconfig whose context broke',
    'kubeconfig',
    (good) => good.replace('"server":"https', '"server":"ftp'),
    /context "m1"/,
  ],
  [
    'a client CA that is none',
    'clientCa',
    () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    /client-ca\.crt/,
  ],
];

for (const [name, file, bad, why] of edits) {
  test(`${name}: the last good state is kept and the fault is told, until it is mended`, async () => {
    const path = site.files[file];
    const good = readFileSync(path, 'utf8');
    const before = site.log().length;
    site.replace(path, bad(good));
    await waitFor(async () => (await failedFiles()).includes(path));
    const reported = site.log().slice(before);
    const lines = reported
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { level: string; fault?: string });
    assert.ok(
      lines.some(
        ({ level, fault }) => level === 'error' && fault !== undefined && why.test(fault.replaceAll('\n', ' ')),
      ),
      reported,
    );
    const details = await verbose();
    assert.match(details.replaceAll('\n', ' '), why);
    assert.match(details, /readyz check passed/);
    assert.equal((await exchange(site, requestBytes('GET /readyz'))).body, 'ok');
    assert.equal(await status(pods), 200);
    assert.equal(await status(pods, 'x'), 401);
    assert.equal(await status(pods, 't'), 401);
    assert.equal(await status('/clusters/m2/proxy/api'), 200);
    site.replace(path, good);
    await waitFor(async () => (await failedFiles()).length === 0);
    assert.doesNotMatch(await verbose(), /bad edit|last good/);
    assert.equal(await status(pods), 200);
  });
}

test('a file that is taken away keeps the last good state', async () => {
  const path = site.files.tokens;
  const good = readFileSync(path, 'utf8');
  rmSync(path);
  await waitFor(async () => (await failedFiles()).includes(path));
  assert.equal(await status(pods), 200);
  site.replace(path, good);
  await waitFor(async () => (await failedFiles()).length === 0);
});

test('good edits of tokens, rules and kubeconfig are in use soon after', async () => {
  const { tokens, rules: rulesFile, kubeconfig } = site.files;
  site.replace(tokens, `${tokenLine({ token: 'new-token', name: 'alice' })}\n`);
  await waitFor(async () => (await status(pods, 'new-token')) === 200);
  assert.equal(await status(pods), 401);
  site.replace(rulesFile, rulesText([{ ...allowed, verbs: ['get'] }]));
  await waitFor(async () => (await status(pods, 'new-token')) === 403);
  assert.equal(await status(`${pods.replace('pods', 'namespaces/a/pods/b')}`, 'new-token'), 200);
  site.replace(rulesFile, rulesText(rules));
  await waitFor(async () => (await status(pods, 'new-token')) === 200);
  site.members[0]!.requests.splice(0);
  site.replace(kubeconfig, kubeconfigText([{ ...site.contexts[0]!, token: 'second' }]));
  await waitFor(async () => (await status('/clusters/m2/proxy/api', 'new-token')) === 404);
  assert.equal(await status(pods, 'new-token'), 200);
  assert.deepEqual(site.members[0]!.requests.at(-1)!.values('authorization'), ['Bearer second']);
  assert.notEqual(memberToken(1), 'second');
});

/** What a gateway that does not start says; it must end with 2. */
async function refusal(options: Partial<GatewayOptions>): Promise<string> {
  const context: Context = { name: 'm1', server: 'https://127.0.0.1:1', ca: '', token: 'x' };
  const kubeconfig = join(folder, 'good.yaml');
  writeFileSync(kubeconfig, kubeconfigText([context]));
  try {
    const gateway = await startGatewayProcess({
      kubeconfigs: [kubeconfig],
      users: [{ token: 'alice-token', name: 'alice' }],
      ...options,
    });
    await gateway.stop('SIGKILL');
  } catch (error) {
    const { message } = error as Error;
    assert.match(message, /ended with 2 instead of serving/);
    return message;
  }
  return assert.fail('it started');
}

test('start-up refuses what is malformed, with file, line and reason, and ends with 2', async () => {
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const refusals = await Promise.all([
    refusal({ kubeconfigs: [file('bad.yaml', 'apiVersion: v1\nclusters: [\n')] }),
    refusal({
      users: [
        { token: 'alice-token', name: 'alice' },
        { token: 'no name', name: '' },
      ],
    }),
    refusal({
      args: ['--authorization-rules', file('rules.yaml', 'apiVersion: x\nkind: AuthorizationRules\nrules: []\n')],
    }),
    refusal({ args: ['--client-ca-file', file('ca.crt', 'nothing')] }),
  ]);
  for (const [i, why] of [/bad\.yaml:\d+/, /tokens\.csv:2/, /rules\.yaml:1:\d+.*apiVersion/, /ca\.crt/].entries()) {
    assert.match(refusals[i]!.replaceAll('\n', ' '), why);
  }
});
