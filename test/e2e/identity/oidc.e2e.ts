// kubectl logs in through kubelogin at a real OpenID provider and is exactly the mapped user in a real member; keys are
// rotated under load; a provider that is down hurts its own users alone.
// Landing tier: users of identity providers.
// Runs alone: keys change in the middle of a steady load.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import type { TestAuthority } from '../../pretend/certificates.ts';
import { ensureBinaries } from '../../controlplane/build.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { freePort } from '../../controlplane/processes.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import { waitFor } from '../../site/polling.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { makeKey } from '../../issuer.ts';
import { browse, startOidcProvider } from '../../oidc-provider.ts';
import type { OidcProvider, OidcProviderOptions } from '../../oidc-provider.ts';
import { ask } from '../kubectl/kubectl-as.ts';

const alice = { token: 'alice-at-the-gateway', name: 'alice' };
const accounts = {
  jane: { groups: ['dev', 'grüße'], tenant: 'blue', email: 'jane@example.com', email_verified: true },
  mallory: { groups: ['dev'], tenant: 'red', email: 'mallory@example.com', email_verified: false },
};
const version = '/clusters/m1/proxy/version';
let plane: ControlPlane;
let authority: TestAuthority;
let settings: OidcProviderOptions;
let provider: OidcProvider;
let gateway: GatewayProcess;
let kubelogin: string;
let loginPort: number;

before(async () => {
  plane = await startControlPlane({ members: ['m1'] });
  kubelogin = (await ensureBinaries(['kubelogin']))['kubelogin']!;
  authority = await makeTestAuthority('identity provider');
  loginPort = await freePort();
  settings = {
    authority,
    keys: [makeKey('RS256', 'first')],
    accounts,
    clientIds: ['kubernetes', 'another-application'],
    redirectUris: ['http://127.0.0.1:9/callback', `http://localhost:${loginPort}`],
  };
  provider = await startOidcProvider(settings);
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [alice],
    args: ['--authentication-config', authenticationConfig('authentication.yaml', provider.url)],
  });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await provider?.close();
  await plane?.stop();
});

/** The file kube-apiserver would be given. */
function authenticationConfig(name: string, url: string): string {
  const file = join(plane.dir, name);
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: { url, audiences: ['kubernetes'], certificateAuthority: authority.ca },
          claimValidationRules: [
            { expression: 'claims.email_verified == true', message: 'verify your email address first' },
          ],
          claimMappings: {
            username: { expression: '"oidc:" + claims.email.split("@")[0]' },
            groups: { claim: 'groups', prefix: 'oidc:' },
            uid: { claim: 'sub' },
            extra: [{ key: 'example.com/tenant', valueExpression: 'claims.tenant' }],
          },
          userValidationRules: [{ expression: "!user.username.startsWith('system:')" }],
        },
      ],
    }),
  );
  return file;
}

/** kubectl with kubelogin as credential plugin; our browser visits what it asks for. */
function kubectlWithLogin(
  account: string,
  args: readonly string[],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const home = join(plane.dir, `home-${account}`);
  mkdirSync(home, { recursive: true });
  const ca = join(plane.dir, 'provider-ca.crt');
  writeFileSync(ca, authority.ca);
  const kubeconfig = join(home, 'config');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'm1',
      clusters: [
        {
          name: 'm1',
          cluster: { server: `${gateway.url}/clusters/m1/proxy`, 'certificate-authority': gateway.caFile },
        },
      ],
      contexts: [{ name: 'm1', context: { cluster: 'm1', user: 'oidc' } }],
      users: [
        {
          name: 'oidc',
          user: {
            exec: {
              apiVersion: 'client.authentication.k8s.io/v1beta1',
              command: kubelogin,
              interactiveMode: 'Never',
              args: [
                'get-token',
                `--oidc-issuer-url=${provider.url}`,
                '--oidc-client-id=kubernetes',
                '--oidc-extra-scope=profile',
                `--oidc-auth-request-extra-params=login_hint=${account}`,
                `--certificate-authority=${ca}`,
                `--listen-address=127.0.0.1:${loginPort}`,
                `--token-cache-dir=${join(home, 'cache')}`,
                '--skip-open-browser',
              ],
            },
          },
        },
      ],
    }),
  );
  const child = spawn(plane.binaries['kubectl']!, ['--kubeconfig', kubeconfig, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
  });
  let stdout = '';
  let stderr = '';
  let visited = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    const address = /http:\/\/localhost:\d+\/?/.exec(stderr)?.[0];
    if (address === undefined || visited) return;
    visited = true;
    browse(address, authority.ca).catch((error: unknown) => (stderr += `\nbrowser: ${String(error)}`));
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
  });
}

test(
  'kubectl logs in through kubelogin and is exactly the mapped user, groups, uid and extra in the member',
  { timeout: 120_000 },
  async () => {
    const { code, stdout, stderr } = await kubectlWithLogin('jane', ['auth', 'whoami', '-o', 'json']);
    assert.equal(code, 0, stderr);
    assert.deepEqual((JSON.parse(stdout) as { status: { userInfo: unknown } }).status.userInfo, {
      username: 'oidc:jane',
      uid: 'jane',
      groups: ['oidc:dev', 'oidc:grüße', 'system:authenticated'],
      extra: { 'example.com/tenant': ['blue'] },
    });
  },
);

test('who fails a rule of the operator is told its words and is nobody', { timeout: 120_000 }, async () => {
  const { code, stderr } = await kubectlWithLogin('mallory', ['auth', 'whoami']);
  assert.notEqual(code, 0);
  assert.match(stderr, /Unauthorized|logged in|verify your email address first/);
  const answer = await ask(gateway, await provider.login('mallory'), 'GET', version);
  assert.equal(answer.status, 401);
  assert.match(answer.body.toString(), /verify your email address first/);
});

test('a token for another application of the same provider is 401', async () => {
  const answer = await ask(gateway, await provider.login('jane', 'another-application'), 'GET', version);
  assert.equal(answer.status, 401);
  assert.match(answer.body.toString(), /another audience/);
  assert.equal((await ask(gateway, await provider.login('jane'), 'GET', version)).status, 200);
});

test(
  'keys are rotated under load: no request fails, and the new keys are fetched once (FLT-11)',
  { timeout: 180_000 },
  async () => {
    const first = settings.keys[0]!;
    const second = makeKey('RS256', 'second');
    const failures: string[] = [];
    const counts = { first: 0, second: 0 };
    let token = await provider.login('jane');
    let signer: 'first' | 'second' = 'first';
    const load = new AbortController();
    const work = async (): Promise<void> => {
      while (!load.signal.aborted) {
        const by = signer;
        const answer = await ask(gateway, token, 'GET', version);
        if (answer.status === 200) counts[by] += 1;
        else failures.push(`${answer.status} ${answer.body.toString()}`);
      }
    };
    const workers = Array.from({ length: 8 }, work);
    await waitFor(() => Promise.resolve(counts.first >= 100));
    const before = provider.jwksRequests();
    provider.useKeys([second, first]);
    token = await provider.login('jane');
    signer = 'second';
    assert.equal(JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid, 'second');
    await waitFor(() => Promise.resolve(counts.second >= 100));
    load.abort();
    await Promise.all(workers);
    assert.deepEqual(failures, []);
    assert.equal(provider.jwksRequests() - before, 1);
    process.stderr.write(`rotation: ${counts.first} requests before it, ${counts.second} after, 0 failed\n`);
  },
);

test(
  'a provider that is down at start, and later, hurts its own users alone and recovers within 10 s (FLT-11)',
  { timeout: 180_000 },
  async () => {
    const port = await freePort();
    const url = `https://127.0.0.1:${port}`;
    await using late = await startGatewayProcess({
      kubeconfigs: [plane.gatewayKubeconfig],
      users: [alice],
      args: ['--authentication-config', authenticationConfig('late.yaml', url)],
    });
    assert.equal((await ask(late, alice.token, 'GET', version)).status, 200);
    assert.equal((await ask(late, await provider.login('jane'), 'GET', version)).status, 401);
    const readyz = await ask(late, alice.token, 'GET', '/readyz?verbose');
    assert.equal(readyz.status, 200);
    assert.match(
      readyz.body.toString(),
      /identity-providers ok: identity provider https:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/,
    );

    let own = await startOidcProvider({ ...settings, port });
    let startedMs = performance.now();
    let token = await own.login('jane');
    await waitFor(async () => (await ask(late, token, 'GET', version)).status === 200);
    const atStart = performance.now() - startedMs;
    assert.ok(atStart < 10_000, `${atStart} ms`);

    await own.close();
    assert.equal((await ask(late, token, 'GET', version)).status, 200, 'what was signed with known keys goes on');
    assert.equal((await ask(late, alice.token, 'GET', version)).status, 200);
    own = await startOidcProvider({ ...settings, port, keys: [makeKey('RS256', 'fresh')] });
    startedMs = performance.now();
    token = await own.login('jane');
    await waitFor(async () => (await ask(late, token, 'GET', version)).status === 200);
    const later = performance.now() - startedMs;
    assert.ok(later < 10_000, `${later} ms`);
    await own.close();
    process.stderr.write(
      `provider back: ${Math.round(atStart)} ms at start, ${Math.round(later)} ms later with new keys\n`,
    );
  },
);

test('a bad edit keeps the last good state, a good one counts for the next request', { timeout: 60_000 }, async () => {
  const token = await provider.login('jane');
  assert.equal((await ask(gateway, token, 'GET', version)).status, 200);
  writeFileSync(join(plane.dir, 'authentication.yaml'), 'kind: AuthenticationConfiguration\n');
  await waitFor(
    async () =>
      gateway.log().includes('bad edit: the last good state is kept') &&
      (await ask(gateway, token, 'GET', version)).status === 200,
  );
  assert.match(gateway.log(), /authentication\.yaml:1:1: apiVersion: must be/);
  authenticationConfig('authentication.yaml', 'https://127.0.0.1:1');
  await waitFor(async () => (await ask(gateway, token, 'GET', version)).status === 401);
  authenticationConfig('authentication.yaml', provider.url);
  await waitFor(async () => (await ask(gateway, token, 'GET', version)).status === 200);
});
