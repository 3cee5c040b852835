// Whatever is wrong with a member, kubectl ends soon, exits with 1 and says which cluster and why; and a cut answer
// looks cut. Refused impersonation is in identity.e2e.ts. kubectl drops the message of a failed discovery, so what it
// prints is what counts.
// Landing tier: every error is a Status, and a cut answer looks cut.
// Runs alone: it says within which seconds each error comes.
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { createAuthority } from '../pretend/certificates.ts';
import { startControlPlane } from '../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../controlplane/fixture.ts';
import { freePort } from '../controlplane/processes.ts';
import { sumMetric } from '../controlplane/requests.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { createAccount, deleteAccount } from './identity/accounts.ts';
import { clusterAt, writeContexts } from './kubectl/contexts.ts';
import type { TestContext } from './kubectl/contexts.ts';
import { startDeafListener, startFaultyMember } from './faulty-member.ts';
import type { AnswerFault, FaultyMember } from './faulty-member.ts';
import { ask, kubectlAs } from './kubectl/kubectl-as.ts';
import type { KubectlResult, RawAnswer } from './kubectl/kubectl-as.ts';
import { eventually } from '../site/polling.ts';

const carol = { token: 'carol-at-the-gateway', name: 'carol', groups: ['operators'] };
/** kubectl may take this long to fail. */
const failsWithinMs = 10_000;
let plane: ControlPlane;
let member: Member;
let frozen: Member;
let faulty: FaultyMember;
let deaf: Awaited<ReturnType<typeof startDeafListener>>;
let gateway: GatewayProcess;
let podsFault: AnswerFault = 'none';
let accountToken = '';
/** Asked before the probe could know, or the breaker would answer. */
let firstDeaf: ReturnType<typeof askDeaf>;

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'frozen'] });
  member = plane.member('m1');
  frozen = plane.member('frozen');
  deaf = await startDeafListener();
  faulty = await startFaultyMember(member, (method, target) =>
    method === 'GET' && /\/pods(?:$|\?)/.test(target) ? podsFault : 'none',
  );
  accountToken = await createAccount(member, 'short-lived');
  for (const name of ['one', 'two', 'three']) await member.apply(pod(name));
  const other = await createAuthority('some-other-ca');
  const user = { token: member.gatewayToken };
  const contexts = [
    { name: 'm1', cluster: clusterAt(member.url, member.caPem), user },
    { name: 'frozen', cluster: clusterAt(frozen.url, frozen.caPem), user: { token: frozen.gatewayToken } },
    { name: 'faulty', cluster: clusterAt(faulty.url, faulty.caPem), user },
    { name: 'refused', cluster: clusterAt(`https://127.0.0.1:${await freePort()}`, member.caPem), user },
    { name: 'wrong-ca', cluster: clusterAt(member.url, other.certPem), user },
    { name: 'wrong-name', cluster: clusterAt(member.url, member.caPem, { 'tls-server-name': 'elsewhere.test' }), user },
    { name: 'wrong-token', cluster: clusterAt(member.url, member.caPem), user: { token: 'nobody-knows-this' } },
    { name: 'revoked', cluster: clusterAt(member.url, member.caPem), user: { token: accountToken } },
    { name: 'deaf', cluster: clusterAt(`https://127.0.0.1:${deaf.port}`, member.caPem), user },
    { name: 'broken', cluster: { server: 'gopher://nowhere' }, user },
  ] as readonly TestContext[];
  gateway = await startGatewayProcess({
    kubeconfigs: [writeContexts(join(plane.dir, 'contexts.kubeconfig'), contexts)],
    users: [carol],
    config: { probeIntervalSeconds: 1, firstByteTimeoutSeconds: 6 },
  });
  firstDeaf = askDeaf();
});

after(async () => {
  await gateway?.stop('SIGKILL');
  faulty?.stop();
  deaf?.stop();
  frozen?.resumeProcess();
  await plane?.stop();
});

function pod(name: string): object {
  const containers = [{ name: 'c', image: 'example.com/nothing' }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: { containers } };
}

/** kubectl with an empty discovery cache, so that the first thing it does is to ask the cluster what there is. */
function kubectl(cluster: string, ...args: string[]): Promise<KubectlResult> {
  const home = mkdtempSync(join(plane.dir, 'home-'));
  const path = `/clusters/${cluster}/proxy`;
  return kubectlAs(plane.binaries['kubectl']!, gateway, carol.token, path, args, { home });
}

async function askDeaf(): Promise<{
  readonly answer: RawAnswer;
  readonly answeredMs: number;
  readonly again: RawAnswer;
  readonly againMs: number;
  readonly reported: KubectlResult;
}> {
  const startedMs = performance.now();
  const reported = kubectl('deaf', 'get', 'pods');
  const answer = await list('deaf');
  const answeredMs = performance.now() - startedMs;
  const again = await list('deaf');
  return { answer, answeredMs, again, againMs: performance.now() - startedMs - answeredMs, reported: await reported };
}

function list(cluster: string): Promise<RawAnswer> {
  return ask(gateway, carol.token, 'GET', `/clusters/${cluster}/proxy/api/v1/namespaces/default/pods`);
}

/** Our own error: a Status and a Warning that name the cluster, and nothing that makes client-go ask again. */
function assertOwnError(answer: RawAnswer, cluster: string, status: number, cause: RegExp): void {
  const text = answer.body.toString();
  assert.equal(answer.status, status, text);
  const { kind, message, code } = JSON.parse(text) as { kind: string; message: string; code: number };
  assert.deepEqual({ kind, code }, { kind: 'Status', code: status });
  assert.match(message, cause);
  assert.match(message, new RegExp(`"${cluster}"`));
  assert.match(String(answer.headers['warning']), new RegExp(`^299 - "cluster ${cluster}: `));
  assert.match(String(answer.headers['warning']), cause);
  assert.equal(answer.headers['retry-after'], undefined);
}

/** kubectl failed in time with exit code 1 and named which cluster and why. */
function assertTold({ code, stdout, stderr, elapsedMs }: KubectlResult, cluster: string, cause: RegExp): void {
  assert.equal(code, 1, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, new RegExp(`(?:cluster |clusters |")${cluster}\\b`));
  assert.match(stderr, cause);
  assert.ok(elapsedMs < failsWithinMs, `took ${elapsedMs} ms`);
}

const cases: readonly (readonly [cluster: string, status: number, cause: RegExp])[] = [
  ['nowhere', 404, /not found/],
  ['refused', 503, /refused/],
  ['wrong-ca', 502, /certificate/],
  ['wrong-name', 502, /certificate.*elsewhere\.test/],
  ['wrong-token', 502, /credential/],
  ['broken', 503, /cannot be used.*server must start with https/],
];
for (const [cluster, status, cause] of cases) {
  test(`${cluster}: kubectl exits with 1 and names the cluster and the cause; the answer is ${status}`, async () => {
    assertTold(await kubectl(cluster, 'get', 'pods'), cluster, cause);
    assertOwnError(await list(cluster), cluster, status, cause);
    assertTold(await kubectl(cluster, 'get', '--raw', '/api/v1/namespaces/default/pods'), cluster, cause);
    const created = await kubectlAs(
      plane.binaries['kubectl']!,
      gateway,
      carol.token,
      `/clusters/${cluster}/proxy`,
      ['create', '-f', '-', '--validate=false'],
      { stdin: JSON.stringify(pod('never')), home: mkdtempSync(join(plane.dir, 'home-')) },
    );
    assertTold(created, cluster, cause);
  });
}

test('a member credential that is revoked while in use is a 502 and never a 401', async () => {
  assert.equal((await list('revoked')).status, 200);
  await deleteAccount(member, 'short-lived');
  // A kube-apiserver believes a token for up to 10 s after it last proved true.
  const refused = await eventually(
    'the member refuses the token',
    async () => {
      const answer = await list('revoked');
      assert.notEqual(answer.status, 401);
      return answer.status !== 200 && answer;
    },
    { timeoutMs: 30_000, everyMs: 250 },
  );
  assertOwnError(refused, 'revoked', 502, /refused the gateway's own credential \(401\)/);
  assertTold(await kubectl('revoked', 'get', 'pods'), 'revoked', /credential/);
});

test('an address that takes no connection is a 504 after the connect deadline, then an answer at once', async () => {
  const { answer, answeredMs, again, againMs, reported } = await firstDeaf;
  assertOwnError(answer, 'deaf', 504, /within 5 s/);
  assert.ok(answeredMs >= 4_900 && answeredMs < 9_000, `after ${answeredMs} ms`);
  assertOwnError(again, 'deaf', 503, /failed a moment ago.*within 5 s/);
  assert.ok(againMs < 1_000, `after ${againMs} ms`);
  assertTold(reported, 'deaf', /within 5 s/);
  assertTold(await kubectl('deaf', 'get', 'pods'), 'deaf', /within 5 s/);
});

test('a member that was stopped in its tracks: kubectl ends in time once the probe has noticed', async () => {
  assert.equal((await list('frozen')).status, 200);
  frozen.pauseProcess();
  // Until it has, the deadline of the first byte holds. (The signal takes a moment to stop every thread.)
  const late = await eventually('the member is silent', async () => {
    const answer = await list('frozen');
    return answer.status !== 200 && answer;
  });
  assertOwnError(late, 'frozen', 504, /no answer within 6 s/);
  await eventually('the probe notices', async () => {
    const metrics = await fetch(`${gateway.opsUrl}/metrics`);
    return sumMetric(await metrics.text(), 'portcullis_breaker_open', { cluster: 'frozen' }) === 1;
  });
  assertTold(await kubectl('frozen', 'get', 'pods'), 'frozen', /within 5 s/);
  assertOwnError(await list('frozen'), 'frozen', 503, /failed a moment ago.* within 5 s/);
  frozen.resumeProcess();
  await eventually('the member is back', async () => (await list('frozen')).status === 200);
  assert.equal((await kubectl('frozen', 'get', 'pods')).code, 0);
});

for (const fault of ['cut-length', 'cut-chunked'] as const) {
  test(`an answer the member cuts (${fault}) reaches every client as cut`, async () => {
    podsFault = 'none';
    assert.equal((await kubectl('faulty', 'get', 'pods')).code, 0);
    podsFault = fault;
    await assert.rejects(list('faulty'), /aborted|ECONNRESET|hang up/);
    for (const args of [
      ['get', 'pods'],
      ['get', 'pods', '-o', 'json'],
      ['get', '--raw', '/api/v1/pods'],
    ]) {
      const result = await kubectl('faulty', ...args);
      assert.equal(result.code, 1, `${args.join(' ')}: ${result.stdout}`);
    }
  });
}

test('the deadline of the first byte holds for lists and not for watches', async () => {
  podsFault = 'withheld';
  let watch = 'open';
  const path = '/clusters/faulty/proxy/api/v1/namespaces/default/pods?watch=true&timeoutSeconds=1';
  const watching = ask(gateway, carol.token, 'GET', path).then(
    () => (watch = 'answered'),
    () => (watch = 'cut'),
  );
  const [reported, answer] = await Promise.all([kubectl('faulty', 'get', 'pods'), list('faulty')]);
  assertTold(reported, 'faulty', /no answer within 6 s/);
  assertOwnError(answer, 'faulty', 504, /no answer within 6 s/);
  assert.equal(watch, 'open');
  faulty.stop();
  await watching;
});
