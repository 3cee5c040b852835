import assert from 'node:assert/strict';
import { rename, symlink, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { testKeyPair } from '../../test/pretend/certificates.ts';
import type { HubConnection } from '../../kube/client/connection.ts';
import { inClusterConnection, readHubKubeconfig } from './hub-connection.ts';
import { until } from '../../kube/client/hub.fixture.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

const [one, two] = await Promise.all([testKeyPair('one'), testKeyPair('two')]);

/** A kubeconfig whose current context is "Hub ü", a name no cluster of a gateway could have. */
function kubeconfig(cluster: object, user: object, current: string | undefined = 'Hub ü'): string {
  return JSON.stringify({
    'current-context': current,
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'other', context: { cluster: 'gone', user: 'gone' } },
      { name: 'Hub ü', context: { cluster: 'c', user: 'u' } },
      { name: 'anonymous', context: { cluster: 'c' } },
    ],
  });
}

async function authorizationOf(connection: HubConnection): Promise<string | undefined> {
  return (await connection.current().credential.current()).authorization;
}

test('the current context of the kubeconfig is the hub, its other contexts do not matter', async (t) => {
  const folder = tempDir('hub-connection');
  const file = join(folder, 'config');
  await writeFile(join(folder, 'ca.pem'), one.cert);
  await writeFile(join(folder, 'token'), 'from-file\n');
  const cluster = {
    server: 'https://hub.example:6443/base',
    'certificate-authority': 'ca.pem',
    'tls-server-name': 'kubernetes',
  };
  await writeFile(file, kubeconfig(cluster, { tokenFile: 'token' }));
  const connection = await readHubKubeconfig(file);
  t.after(() => connection.close());
  const { endpoint, tls } = connection.current();
  assert.deepEqual(endpoint, { scheme: 'https', host: 'hub.example', port: 6443, basePath: '/base' });
  assert.deepEqual([tls.ca?.trim(), tls.serverName, tls.insecure], [one.cert.trim(), 'kubernetes', false]);
  assert.equal(await authorizationOf(connection), 'Bearer from-file');
  assert.equal(connection.origin, `${file} context "Hub ü"`);
});

test('client certificates and plugins work, since the file is the operator’s own', async (t) => {
  const folder = tempDir('hub-connection');
  const file = join(folder, 'config');
  const data = (text: string): string => Buffer.from(text).toString('base64');
  const server = { server: 'https://hub.example' };
  await writeFile(
    file,
    kubeconfig(server, { 'client-certificate-data': data(one.cert), 'client-key-data': data(one.key) }),
  );
  const certified = await readHubKubeconfig(file);
  t.after(() => certified.close());
  const { clientCertificate } = await certified.current().credential.current();
  assert.deepEqual(clientCertificate, { cert: one.cert, key: one.key });

  const apiVersion = 'client.authentication.k8s.io/v1';
  await writeFile(file, kubeconfig(server, { exec: { apiVersion, command: 'plugin', interactiveMode: 'Never' } }));
  const stdout = JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token: 'of-plugin' } });
  const executed = await readHubKubeconfig(file, {
    exec: { run: async () => ({ kind: 'exited', code: 0, stdout, stderr: '' }) },
  });
  t.after(() => executed.close());
  assert.equal(await authorizationOf(executed), 'Bearer of-plugin');
});

test('what cannot be a hub is refused at start, with the reason and no secret', async () => {
  const folder = tempDir('hub-connection');
  const file = join(folder, 'config');
  const server = 'https://hub.example';
  const user = { token: 'hunter2' };
  const cases: readonly [text: string, reason: RegExp][] = [
    [kubeconfig({ server }, user, ''), /has no current-context; choose/],
    [kubeconfig({ server }, user, 'nowhere'), /"nowhere" is not among its contexts/],
    [kubeconfig({ server }, user, 'other'), /the cluster "gone" is not in this file/],
    [kubeconfig({ server }, user, 'anonymous'), /has no user with a credential/],
    [kubeconfig({ server: 'http://hub.example' }, user), /over https only/],
    [kubeconfig({ server, 'proxy-url': 'http://u:hunter2@p' }, user), /cannot be asked through a proxy-url/],
    [kubeconfig({ server, 'certificate-authority': 'gone.pem' }, user), /gone\.pem: no such file/],
    [kubeconfig({ server }, { token: 'hunter2 x' }), /cannot be sent in a header/],
    ['{', /config/],
  ];
  for (const [text, reason] of cases) {
    await writeFile(file, text);
    await assert.rejects(readHubKubeconfig(file), (error) => {
      assert.ok(error instanceof ConfigurationError, String(error));
      assert.match(error.message, reason);
      assert.ok(!error.message.includes('hunter2'));
      return true;
    });
  }
  await assert.rejects(readHubKubeconfig(join(folder, 'missing')), /missing: no such file/);
});

test('a pod’s ServiceAccount is followed as kubelet swaps its files; connections are kept unless the authority changes', async (t) => {
  const folder = tempDir('hub-connection');
  const write = async (version: string, ca: string, token: string): Promise<void> => {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, 'ca.crt'), ca);
    await writeFile(join(folder, version, 'token'), token);
    await symlink(version, join(folder, '..new'));
    await rename(join(folder, '..new'), join(folder, '..data'));
  };
  await write('..1', one.cert, 'first');
  await symlink('..data/ca.crt', join(folder, 'ca.crt'));
  await symlink('..data/token', join(folder, 'token'));
  assert.equal(await inClusterConnection({}), undefined);
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  const reported: (string | undefined)[] = [];
  const connection = await inClusterConnection(environment, {
    folder,
    watch: { pollMs: 20, restMs: 5 },
    onProblem: (problem) => void reported.push(problem),
  });
  assert.ok(connection !== undefined);
  t.after(() => connection.close());
  const first = connection.current();
  assert.deepEqual(first.endpoint, { scheme: 'https', host: 'fd00::1', port: 443, basePath: '' });
  assert.equal(await authorizationOf(connection), 'Bearer first');

  await write('..2', one.cert, 'second');
  await until(() => connection.current() !== first);
  const second = connection.current();
  assert.equal(await authorizationOf(connection), 'Bearer second');
  assert.equal(second.transportKey, first.transportKey);

  await write('..3', 'not a certificate', 'third');
  await until(() => reported.length === 1);
  assert.match(reported[0] ?? '', /holds no valid PEM certificate/);
  assert.equal(connection.problem(), reported[0]);
  assert.equal(connection.current(), second, 'what worked is kept');

  await write('..4', two.cert, 'fourth');
  await until(() => connection.current() !== second);
  assert.deepEqual(reported.slice(1), [undefined]);
  assert.notEqual(connection.current().transportKey, second.transportKey);
  assert.equal(await authorizationOf(connection), 'Bearer fourth');
});
