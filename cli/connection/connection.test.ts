import assert from 'node:assert/strict';
import test from 'node:test';
import { stringify } from 'yaml';
import { connectionFromFlags, findConnection } from './connection.ts';
import { Failure } from '../terminal/failure.ts';
import { makeFolder, recordingTerminal } from '../stub-gateway.fixture.ts';

const proxyOf = (server: string, env: Record<string, string>): unknown =>
  connectionFromFlags({ server, token: 't' }, recordingTerminal({ env })).proxyEnv;

test('the proxy of the environment is used, but never for this machine, as in Go', () => {
  const env = { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: '.corp' };
  assert.deepEqual(proxyOf('https://gw.example:8443', env), { HTTPS_PROXY: 'http://proxy:3128' });
  assert.deepEqual(proxyOf('https://gw.corp:8443', env), {});
  assert.deepEqual(proxyOf('https://gw.example', { https_proxy: 'http://p', no_proxy: 'x' }), {
    HTTPS_PROXY: 'http://p',
  });
  for (const host of ['127.0.0.1', '127.9.9.9', 'localhost', '[::1]']) {
    assert.deepEqual(proxyOf(`https://${host}:8443`, env), {}, host);
  }
  assert.deepEqual(proxyOf('https://gw.example', {}), {});
  assert.deepEqual(proxyOf('https://gw.example', { HTTPS_PROXY: '' }), {});
});

test('the proxy-url of a context comes before that of the environment; socks is not spoken', () => {
  const folder = makeFolder();
  const find = (proxyUrl: string): unknown => {
    const kubeconfig = folder.write(
      'config',
      stringify({
        clusters: [{ name: 'k', cluster: { server: 'https://gw/clusters/m1/proxy', 'proxy-url': proxyUrl } }],
        contexts: [{ name: 'c', context: { cluster: 'k' } }],
      }),
    );
    const terminal = recordingTerminal({ env: { HTTPS_PROXY: 'http://other' } });
    return findConnection({ kubeconfig, context: 'c', token: 't' }, terminal).proxyEnv;
  };
  assert.deepEqual(find('http://127.0.0.1:3128'), { HTTPS_PROXY: 'http://127.0.0.1:3128' });
  assert.throws(
    () => find('socks5://127.0.0.1:1080'),
    (error) => error instanceof Failure && error.exitCode === 2 && /proxy-url of context "c"/.test(error.message),
  );
});

test('a context whose parts are missing is explained', () => {
  const folder = makeFolder();
  const refusal = (content: object, context?: string): string => {
    const kubeconfig = folder.write('config', stringify(content));
    try {
      findConnection({ kubeconfig, ...(context === undefined ? {} : { context }) }, recordingTerminal());
    } catch (error) {
      assert.ok(error instanceof Failure);
      assert.equal(error.exitCode, 2);
      return `${error.message} ${error.nextStep}`;
    }
    throw new assert.AssertionError({ message: 'nothing was thrown' });
  };
  const contexts = [{ name: 'c', context: { cluster: 'k', user: 'u' } }];
  const clusters = [{ name: 'k', cluster: { server: 'https://gw' } }];
  assert.match(refusal({ contexts, clusters }), /no current context is set .* Contexts there: c\./);
  assert.match(refusal({ contexts }, 'c'), /names the cluster "k", which is not in/);
  assert.match(refusal({ contexts, clusters }, 'c'), /names the user "u", which is not in/);
  const kubeconfig = folder.write('no-user', stringify({ contexts, clusters }));
  assert.equal(findConnection({ kubeconfig, context: 'c', token: 't' }, recordingTerminal()).token, 't');
  assert.match(refusal({ contexts: 'x' }), /contexts in .* is not a list/);
  const noServer = { contexts: [{ name: 'c', context: { cluster: 'k' } }], clusters: [{ name: 'k', cluster: {} }] };
  assert.match(refusal(noServer, 'c'), /the server of context "c" is not a URL/);
});

test('a user that acts as another one is refused, since the command would act as the user itself', () => {
  const folder = makeFolder();
  const find = (user: object, token?: string): unknown => {
    const kubeconfig = folder.write(
      'config',
      stringify({
        'current-context': 'c',
        clusters: [{ name: 'k', cluster: { server: 'https://gw' } }],
        contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
        users: [{ name: 'u', user: { token: 'strong', ...user } }],
      }),
    );
    return findConnection({ kubeconfig, ...(token === undefined ? {} : { token }) }, recordingTerminal()).token;
  };
  const fields = { as: 'viewer', 'as-uid': '7', 'as-groups': ['readers'], 'as-user-extra': { scopes: ['few'] } };
  for (const [field, value] of Object.entries(fields)) {
    assert.throws(
      () => find({ [field]: value }),
      (error) =>
        error instanceof Failure &&
        error.exitCode === 2 &&
        /the user of context "c" impersonates \(as, as-uid, as-groups, as-user-extra\)/.test(error.message) &&
        /--token/.test(error.nextStep),
      field,
    );
  }
  assert.equal(find({ as: 'viewer' }, 'own'), 'own');
  assert.equal(find({ as: '', 'as-groups': [], 'as-user-extra': {}, 'as-uid': null }), 'strong');
});
