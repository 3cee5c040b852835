import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { Failure } from '../terminal/failure.ts';
import { kubeconfig } from './kubeconfig.ts';
import type { KubeconfigVerbFlags } from './kubeconfig.ts';
import { cluster, makeFolder, recordingTerminal, startStub } from '../stub-gateway.fixture.ts';
import type { StubGateway } from '../stub-gateway.fixture.ts';
import { makeTestAuthority, type TestAuthority } from '../../test/pretend/certificates.ts';
import { sendJson } from '../../test/pretend/server.ts';

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

describe('portcullis kubeconfig', () => {
  let authority: TestAuthority;
  let stub: StubGateway;
  const folder = makeFolder();
  let caFile: string;

  before(async () => {
    authority = await makeTestAuthority();
    stub = await startStub(authority);
    caFile = folder.write('ca.crt', authority.ca);
  });
  beforeEach(() => {
    stub.answers.clusters = [cluster('m1'), cluster('m2')];
    stub.answers.override = undefined;
  });
  after(async () => {
    await stub.close();
  });

  const flags = (changes: Partial<KubeconfigVerbFlags> = {}): KubeconfigVerbFlags => ({
    server: stub.url,
    certificateAuthority: caFile,
    token: 'good-token',
    prefix: 'portcullis',
    ...changes,
  });
  const run = async (changes: Partial<KubeconfigVerbFlags> = {}): Promise<ReturnType<typeof recordingTerminal>> => {
    const terminal = recordingTerminal();
    await kubeconfig(flags(changes), terminal);
    return terminal;
  };
  const refusal = async (changes: Partial<KubeconfigVerbFlags>): Promise<Failure> => {
    const error: unknown = await run(changes).then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.ok(error instanceof Failure, String(error));
    assert.doesNotMatch(error.message + error.nextStep, /good-token/);
    return error;
  };

  test('without a file the kubeconfig is printed and nothing else', async () => {
    const terminal = await run();
    const printed = parse(terminal.printed()) as { contexts: { name: string }[] };
    assert.deepEqual(
      printed.contexts.map(({ name }) => name),
      ['portcullis-m1', 'portcullis-m2'],
    );
    assert.equal(terminal.noted(), '');
  });

  test('--output writes a file for its owner only, and stdout stays empty', async () => {
    const output = join(folder.path, 'out.kubeconfig');
    const terminal = await run({ output });
    assert.equal(statSync(output).mode & 0o777, 0o600);
    assert.equal(terminal.printed(), '');
    assert.match(terminal.noted(), /wrote 2 contexts to .*\ntry: kubectl --kubeconfig .* --context portcullis-m1/);
    assert.doesNotMatch(terminal.noted(), /good-token/);
    // Writing it again is fine: all of it is ours.
    assert.match((await run({ output, cluster: ['m2', 'm2'] })).noted(), /wrote 1 context to/);
    const second = parse(folder.read('out.kubeconfig')) as { clusters: unknown[]; contexts: unknown[] };
    assert.deepEqual([second.clusters.length, second.contexts.length], [1, 1]);
  });

  test('--output does not destroy a kubeconfig of the person', async () => {
    const text = 'clusters:\n- name: kind\n  cluster: {server: https://kind}\n';
    const output = folder.write('mine', text);
    const failure = await refusal({ output });
    assert.equal(failure.exitCode, 2);
    assert.match(failure.nextStep, /--merge/);
    assert.equal(folder.read('mine'), text);
  });

  test('--merge --all takes out clusters that are gone and says so', async () => {
    const merge = join(folder.path, 'merged');
    await run({ merge });
    stub.answers.clusters = [cluster('m2')];
    await run({ merge });
    assert.match(folder.read('merged'), /portcullis-m1/);
    const terminal = await run({ merge, all: true });
    assert.doesNotMatch(folder.read('merged'), /name: portcullis-m1/);
    assert.match(terminal.noted(), /removed, because the cluster is gone: portcullis-m1\n/);
    assert.match(terminal.noted(), /the current context portcullis-m1 was among them/);
  });

  test('an unknown cluster is refused with the names there are', async () => {
    const failure = await refusal({ cluster: ['m1', 'nope'] });
    assert.equal(failure.exitCode, 1);
    assert.match(failure.message, /no cluster "nope" that you may see/);
    assert.equal(failure.nextStep, 'Clusters there: m1, m2.');
  });

  test('a cluster whose name is taken is left out, or refused when asked for', async () => {
    const conflict = { type: 'Available', status: 'False', reason: 'NameConflict', message: 'm1 is \u001b[31mtaken' };
    stub.answers.clusters = [cluster('m1'), cluster('m1-2', [conflict])];
    const terminal = await run();
    assert.doesNotMatch(terminal.printed(), /m1-2/);
    assert.equal(terminal.noted(), 'warning: left out m1-2: m1 is ^[[31mtaken\n');
    assert.match((await refusal({ cluster: ['m1-2'] })).message, /cannot be used: m1 is/);
  });

  test('a name that could leave its place in a path or file is not written', async () => {
    stub.answers.clusters = [cluster('../x'), cluster('a\nb: c'), cluster(7), cluster('a'.repeat(254)), cluster('ok')];
    const terminal = await run();
    assert.equal((parse(terminal.printed()) as { clusters: unknown[] }).clusters.length, 1);
    assert.equal(terminal.noted().split('\n').length - 1, 4);
  });

  test('no clusters is said, and the file still is a kubeconfig', async () => {
    stub.answers.clusters = [];
    const terminal = await run();
    assert.match(terminal.noted(), /shows you no clusters/);
    assert.deepEqual((parse(terminal.printed()) as { clusters: unknown[] }).clusters, []);
  });

  test('a client certificate signs in and is embedded', async () => {
    const pair = await authority.issue([], { commonName: 'ada' });
    const clientCertificate = folder.write('ada.crt', pair.cert);
    const clientKey = folder.write('ada.key', pair.key);
    const terminal = await run({ token: undefined, clientCertificate, clientKey });
    const { users } = parse(terminal.printed()) as { users: { user: Record<string, string> }[] };
    const { user } = users[0] ?? { user: {} };
    assert.equal(Buffer.from(user['client-certificate-data'] ?? '', 'base64').toString(), pair.cert);
    assert.equal(Buffer.from(user['client-key-data'] ?? '', 'base64').toString(), pair.key);
    const other = folder.write('other.key', (await authority.issue([], { commonName: 'ada' })).key);
    assert.match(
      (await refusal({ token: undefined, clientCertificate, clientKey: other })).message,
      /is not the key of/,
    );
  });

  test('flags that contradict each other or name nothing usable are usage errors', async () => {
    const wrong: readonly (readonly [Partial<KubeconfigVerbFlags>, RegExp])[] = [
      [{ token: undefined }, /no credential is given/],
      [{ clientCertificate: caFile }, /cannot be used together/],
      [{ token: undefined, clientCertificate: caFile }, /belong together/],
      [{ token: 'a b' }, /holds a space/],
      [{ token: '' }, /is empty/],
      [{ certificateAuthority: join(folder.path, 'none') }, /there is no such file/],
      [{ certificateAuthority: folder.write('not-pem', 'x') }, /holds no certificate/],
      [{ prefix: 'a/b' }, /--prefix/],
      [{ server: 'gw' }, /--server is not a URL/],
    ];
    for (const [changes, message] of wrong) {
      const failure = await refusal(changes);
      assert.equal(failure.exitCode, 2, failure.message);
      assert.match(failure.message, message);
    }
  });

  test('a wrong token is 401 with advice, and is not repeated', async () => {
    const failure = await refusal({ token: 'wr0ng-token' });
    assert.match(failure.message, /does not accept this token \(401\)/);
    assert.match(failure.nextStep, /--token-auth-file/);
    assert.doesNotMatch(failure.message + failure.nextStep, /wr0ng/);
  });

  test('kubectl accepts the files', { skip: !hasKubectl && 'no kubectl here' }, async () => {
    const output = join(folder.path, 'for-kubectl');
    const merge = folder.write(
      'for-kubectl-merged',
      'apiVersion: v1\nkind: Config\nclusters: null\ncontexts: null\nusers: null\n',
    );
    await run({ output });
    await run({ merge, all: true });
    // Never the synchronous form: some kubectls ask the server for its version first, and the stub lives in this
    // process.
    const kubectl = async (...args: string[]): Promise<unknown> =>
      JSON.parse((await promisify(execFile)('kubectl', args)).stdout);
    const version = { major: '1', minor: '32', gitVersion: 'v1.32.4' };
    stub.answers.override = (_request, response) => sendJson(response, 200, version);
    for (const file of [output, merge]) {
      const view = await kubectl('config', 'view', '--kubeconfig', file, '-o', 'json', '--raw');
      const { clusters, users } = view as { clusters: { cluster: { server: string } }[]; users: unknown };
      assert.equal(clusters[1]?.cluster.server, `${stub.url}/clusters/m2/proxy`);
      assert.deepEqual(users, [{ name: 'portcullis', user: { token: 'good-token' } }]);
      stub.requests.length = 0;
      // Not get --raw: that drops the path of the server's address.
      const answer = await kubectl('--kubeconfig', file, '--context', 'portcullis-m2', 'version', '-o', 'json');
      assert.equal((answer as { serverVersion: { gitVersion: string } }).serverVersion.gitVersion, version.gitVersion);
      assert.match(stub.requests.at(-1)?.line ?? '', /^GET \/clusters\/m2\/proxy\/version(\?|$)/);
      assert.equal(stub.requests.at(-1)?.token, 'good-token');
    }
  });
});
