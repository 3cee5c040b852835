// Kubeconfigs in objects of a hub are written by whoever may write the object: nothing they name is run or opened, and
// none takes the gateway down. A file that is read and then refused has been read; a FIFO tells, since nobody can write
// to one that nobody reads.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import type { ClientHttp2Session } from 'node:http2';
import { closeSync, constants, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Simulator } from '../../sim/server.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { answerEcho } from '../site/member.ts';
import { exchange, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { kubeconfigText, startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import { startAdminHub, writeHubKubeconfig } from '../site/simulated-hub.ts';
import type { Site } from '../site/site.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const namespace = 'virtual';
const bearer = 'Authorization: Bearer admin-token';
const clusters = '/apis/gateway.portcullis.io/v1alpha1/clusters';
const apiVersion = 'client.authentication.k8s.io/v1';
const touch = { apiVersion, command: 'touch', interactiveMode: 'Never' };
const folder = tempDir('credentials');
let fifo: string;
let marker: string;
let plugin: string;
let hub: Simulator;
let site: Site;
let session: ClientHttp2Session;

const ask = (line: string, headers: readonly string[] = [], body = ''): Promise<RawAnswer> =>
  exchange(site, requestBytes(line, [bearer, ...headers], body));

/** A vcluster Secret with this text as its kubeconfig. */
function register(name: string, text: string): void {
  hub.store.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name: `vc-${name}`, namespace },
    data: { config: Buffer.from(text).toString('base64') },
  } as never);
}

/** A kubeconfig to the pretend member, with parts of it replaced. */
function kubeconfig(change: { readonly user?: object; readonly cluster?: object } = {}): string {
  const [context] = site.contexts;
  return kubeconfigText([
    { ...context!, ...change, ...(change.user === undefined ? {} : { user: change.user as never }) } as never,
  ]);
}

before(async () => {
  fifo = join(folder, 'fifo');
  marker = join(folder, 'was-run');
  execFileSync('mkfifo', [fifo]);
  plugin = join(folder, 'plugin.sh');
  writeFileSync(
    plugin,
    `#!/bin/sh\necho "$AWS_PROFILE $CORP_TENANT $*" >>${marker}\necho '${JSON.stringify({ apiVersion, kind: 'ExecCredential', status: { token: 'x' } })}'\n`,
    { mode: 0o755 },
  );
  hub = await startAdminHub(namespace);
  site = await startSite({
    users: [{ token: 'local-token', name: 'local' }],
    config: {
      hubKubeconfig: writeHubKubeconfig(folder, hub),
      sources: 'kubeconfig,vcluster,cluster-gateway',
      secretNamespaces: namespace,
      secretNamespace: namespace,
      allowMemberAddresses: '127.0.0.1',
      allowExec: [`${plugin} get-token --cluster-name * --region=*`, 'touch'],
      allowExecEnv: 'CORP_TENANT',
    },
  });
  session = await openHttp2(site);
  site.members[0]!.answer = (request) =>
    request.values('upgrade').length > 0 ? request.reply(403) : answerEcho(request);
});
after(async () => {
  session.destroy();
  site.close();
  await hub.close();
});

/** Whether somebody has the FIFO open for reading. */
function isBeingRead(): boolean {
  try {
    closeSync(openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENXIO');
    return false;
  }
}

/** Waits until the cluster is listed, and for what it answers on every transport. */
async function answersOf(name: string): Promise<readonly { readonly status: number; readonly body: string }[]> {
  await waitFor(async () => (await ask(`GET ${clusters}/${name}`)).status === 200);
  const path = `/clusters/${name}/proxy/api/v1/pods`;
  const exec = path.replace('pods', 'namespaces/a/pods/b/exec?command=c');
  const answers = [
    await ask(`GET ${path}`),
    await http2Exchange(session, http2Headers('GET', path, ['authorization', 'Bearer admin-token'])),
    await ask(`GET ${exec}`, upgradeLines('websocket')),
    await ask(`POST ${exec}`, upgradeLines('SPDY/3.1')),
  ];
  return answers;
}

test('exec, auth providers and paths of files in a kubeconfig of a hub are refused: nothing runs, nothing is opened, 0 upstream (ATT-29)', async () => {
  assert.equal(isBeingRead(), false);
  const cases: Readonly<Record<string, string>> = {
    exec: kubeconfig({ user: { exec: { ...touch, args: [marker] } } }),
    'exec beside a token': kubeconfig({ user: { token: 'x', exec: { ...touch, args: [marker] } } }),
    'auth provider': kubeconfig({
      user: { 'auth-provider': { name: 'gcp', config: { 'cmd-path': 'touch', 'cmd-args': marker } } },
    }),
    'token file': kubeconfig({ user: { tokenFile: fifo } }),
    'token file beside a token': kubeconfig({ user: { token: 'x', tokenFile: fifo } }),
    'client key': kubeconfig({ user: { 'client-certificate-data': 'eA==', 'client-key': fifo } }),
    'client certificate': kubeconfig({ user: { 'client-certificate': fifo, 'client-key': fifo } }),
    authority: kubeconfig({
      cluster: { 'certificate-authority-data': undefined, 'certificate-authority': fifo },
      user: { token: 'x' },
    }),
    'relative paths': kubeconfig({ user: { tokenFile: '../../etc/passwd' } }),
  };
  for (const [index, [name, text]] of Object.entries(cases).entries()) {
    register(`foreign-${index}`, text);
    for (const { status, body } of await answersOf(`foreign-${index}`)) {
      assert.equal(status, 503, `${name}: ${body}`);
      assert.match(body, /InvalidConfiguration/, name);
    }
    assert.equal(isBeingRead(), false, name);
    assert.ok(!existsSync(marker), name);
  }
  assert.equal(site.upstream(), 0);
});

interface PluginRun {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A Dynamic Secret of cluster-gateway with this plugin. */
function registerPlugin(name: string, { command = plugin, args, env = {} }: PluginRun): void {
  const [{ server, ca }] = site.contexts as [Site['contexts'][number]];
  const exec = JSON.stringify({
    apiVersion,
    command,
    args: args ?? ['get-token', '--cluster-name', 'prod', '--region=eu-west-1'],
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
  });
  hub.store.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, namespace, labels: { 'cluster.core.oam.dev/cluster-credential-type': 'Dynamic' } },
    data: Object.fromEntries(
      Object.entries({ endpoint: server, 'ca.crt': ca, exec }).map(([key, value]) => [
        key,
        Buffer.from(value).toString('base64'),
      ]),
    ),
  } as never);
}

test('an allowed plugin is run with the arguments and variables the operator allowed, and no others (ATT-48)', async () => {
  const line = (...args: readonly string[]): PluginRun => ({ args });
  const env = (name: string, value = '/tmp/x'): PluginRun => ({ env: { [name]: value } });
  const hostile: readonly PluginRun[] = [
    ...['CLOUDSDK_PYTHON', 'OPENSSL_CONF', 'AWS_CONFIG_FILE', 'AWS_ENDPOINT_URL_STS', 'HTTPS_PROXY', 'PATH'].map(
      (name) => env(name),
    ),
    ...['corp_tenant', 'CORP_TENANT ', 'KUBERNETES_EXEC_INFO', 'AWS_CA_BUNDLE', 'SSL_CERT_FILE'].map((name) =>
      env(name),
    ),
    env('AWS_PROFILE', '../x'),
    env('AWS_REGION', 'evil.example.com/'),
    line(),
    line('get-token'),
    line('get-token', '--cluster-name', 'prod'),
    line('s3', 'cp', '/etc/passwd', 's3://x'),
    line('get-token', '--cluster-name', 'prod', '--region=eu', '--endpoint-url=https://x'),
    line('get-token', '--cluster-name', '--debug', '--region=eu'),
    line('get-token', '--cluster-name', 'file:///etc/passwd', '--region=eu'),
    line('get-token', '--cluster-name', '/etc/passwd', '--region=eu'),
    line('get-token', '--cluster-name', 'a/../../etc', '--region=eu'),
    line('get-token', '--cluster-name', '@x', '--region=eu'),
    line('get-token', '--cluster-name', 'a b', '--region=eu'),
    line('get-token', '--cluster-name', 'prod', '--region='),
    line('get-token --cluster-name prod --region=eu'),
    { command: 'touch', args: [marker] },
    { command: 'sh', args: ['-c', plugin] },
    { command: `${plugin} get-token` },
  ];
  for (const [index, run] of hostile.entries()) registerPlugin(`plugin-${index}`, run);
  for (const [index, run] of hostile.entries()) {
    for (const { status, body } of await answersOf(`plugin-${index}`)) {
      assert.equal(status, 503, `${JSON.stringify(run)}: ${body}`);
      assert.match(body, /InvalidConfiguration.*(?:environment variable|plain name|command)/, JSON.stringify(run));
    }
  }
  assert.ok(!existsSync(marker));
  assert.equal(site.upstream(), 0);

  registerPlugin('allowed', { env: { AWS_PROFILE: 'prod', CORP_TENANT: 'https://corp/?a=b' } });
  const served = await answersOf('allowed');
  assert.deepEqual(
    served.map(({ status }) => status),
    [200, 200, 403, 403],
  );
  const ran = readFileSync(marker, 'utf8');
  assert.equal(ran, 'prod https://corp/?a=b get-token --cluster-name prod --region=eu-west-1\n');
  rmSync(marker);
  site.members[0]!.requests.splice(0);
  assert.match(site.log(), /--allow-exec \\"touch\\" allows that command without arguments alone/);
});

test('YAML bombs, deep nesting, huge and doubled documents are refused in bounded time, and others are served (ATT-29)', async () => {
  const { server, ca, token } = site.contexts[0]!;
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefghi'.split('').map((c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdefgh'[i]}`).join()}]`),
  ];
  const good = kubeconfig({ user: { token } });
  const cases: Readonly<Record<string, string>> = {
    'aliases of aliases': `${bomb.join('\n')}\n`,
    'an alias to itself': 'clusters: &a [*a]\n',
    '100k nested lists': '['.repeat(100_000),
    '100k nested maps': '{a: '.repeat(100_000),
    '60,000 keys': Array.from({ length: 60_000 }, (_, i) => `k${i}: v`).join('\n'),
    'a list of 300,000': `a: [${'x,'.repeat(300_000)}]`,
    '2 MiB': `${good}\n# ${'x'.repeat(2 * 1024 * 1024)}`,
    'doubled keys': `apiVersion: v1\nkind: Config\nclusters: []\nclusters:\n- name: m\n  cluster: {server: "${server}", certificate-authority-data: ${Buffer.from(ca).toString('base64')}}\ncurrent-context: m\n`,
    'two documents': `${good}\n---\n${good}`,
    'a tag': '!!js/function "return process"\n',
    NUL: '\u0000',
    'not UTF-8': '\ufffd\ufffe',
    ['__proto__']: '{"apiVersion":"v1","kind":"Config","__proto__":{"clusters":[]},"clusters":null}',
  };
  for (const [index, text] of Object.values(cases).entries()) register(`bomb-${index}`, text);
  register('good', good);
  const served = await answersOf('good');
  assert.deepEqual(
    served.map(({ status }) => status),
    [200, 200, 403, 403],
  );
  site.members[0]!.requests.splice(0);
  for (const [index, name] of Object.keys(cases).entries()) {
    const { status, body } = await ask(`GET /clusters/bomb-${index}/proxy/api`);
    assert.equal(status, 503, `${name}: ${body}`);
    assert.ok(!body.includes(token), name);
  }
  assert.equal(site.upstream(), 0);
});

test('JSON nested 100,000 deep to what the gateway reads itself is answered, and the gateway lives (ATT-39)', async () => {
  hub.store.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: 'east',
      namespace,
      labels: { 'cluster.core.oam.dev/cluster-credential-type': 'ServiceAccountToken' },
    },
    data: Object.fromEntries(
      Object.entries({ endpoint: site.contexts[0]!.server, 'ca.crt': site.contexts[0]!.ca, token: 'x' }).map(
        ([key, value]) => [key, Buffer.from(value).toString('base64')],
      ),
    ),
  } as never);
  const health = '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/east/health';
  await waitFor(async () => (await ask(`GET ${health}`)).status === 200);
  const object =
    '{"apiVersion":"cluster.core.oam.dev/v1alpha1","kind":"ClusterGateway","metadata":{"name":"east"},"status":';
  for (const deep of [
    '['.repeat(100_000) + ']'.repeat(100_000),
    '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000),
    '['.repeat(200_000),
  ]) {
    for (const method of ['PUT', 'PATCH']) {
      const body = `${object}${deep}}`;
      const type = 'application/json';
      const answer = await ask(
        `${method} ${health}`,
        [`Content-Type: ${type}`, `Content-Length: ${body.length}`],
        body,
      );
      assert.ok(answer.status < 500, `${method}: ${answer.status} ${answer.body}`);
      const list = http2Headers(method, health, ['authorization', 'Bearer admin-token', 'content-type', type]);
      const over = await http2Exchange(session, list, body);
      assert.equal(over.status, answer.status, `${method} over HTTP/2`);
    }
  }
  assert.equal((await ask('GET /clusters/m1/proxy/api')).status, 200);
});
