import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { Failure } from './terminal/failure.ts';
import { getClusters } from './get-clusters.ts';
import type { GetClustersFlags } from './get-clusters.ts';
import { makeFolder, recordingTerminal, startStub } from './stub-gateway.fixture.ts';
import type { StubGateway } from './stub-gateway.fixture.ts';
import { makeTestAuthority, type TestAuthority } from '../test/pretend/certificates.ts';

const column = (name: string, priority = 0, type = 'string'): object => ({ name, type, format: '', priority });

describe('portcullis get clusters', () => {
  let authority: TestAuthority;
  let stub: StubGateway;
  const folder = makeFolder();
  let caFile: string;

  before(async () => {
    authority = await makeTestAuthority();
    stub = await startStub(authority, '/hub');
    caFile = folder.write('ca.crt', authority.ca);
    folder.write('token', 'good-token\n');
  });
  beforeEach(() => {
    stub.requests.length = 0;
    stub.answers.override = undefined;
    stub.answers.table = {
      kind: 'Table',
      columnDefinitions: [column('Name'), column('Available'), column('Age'), column('Original Name', 1)],
      rows: [
        { cells: ['m1', 'True', '2026-06-01T09:59:00Z', 'Kind M1'] },
        { cells: ['long-name', 'False', '5d', null] },
      ],
    };
  });
  after(async () => {
    await stub.close();
  });

  const run = async (
    flags: Partial<GetClustersFlags>,
    surroundings: Parameters<typeof recordingTerminal>[0] = {},
  ): Promise<ReturnType<typeof recordingTerminal>> => {
    const terminal = recordingTerminal(surroundings);
    await getClusters({ output: 'table', ...flags }, terminal);
    return terminal;
  };
  const refusal = async (...parameters: Parameters<typeof run>): Promise<Failure> => {
    const error: unknown = await run(...parameters).then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.ok(error instanceof Failure, String(error));
    return error;
  };
  const byFlags = (): Partial<GetClustersFlags> => ({
    server: stub.url,
    token: 'good-token',
    certificateAuthority: caFile,
  });
  /** A kubeconfig with one context `c`, changed by the caller. */
  const kubeconfigFile = (name: string, clusterChanges: object = {}, user: object = { token: 'good-token' }): string =>
    folder.write(
      name,
      stringify({
        clusters: [
          {
            name: 'k',
            cluster: { server: `${stub.url}/clusters/m1/proxy`, 'certificate-authority': 'ca.crt', ...clusterChanges },
          },
        ],
        contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
        users: [{ name: 'u', user }],
        'current-context': 'c',
      }),
    );

  test('prints the columns of the server, aligned as kubectl does, ages counted', async () => {
    const terminal = await run(byFlags());
    assert.equal(
      terminal.printed(),
      ['NAME        AVAILABLE   AGE', 'm1          True        121m', 'long-name   False       5d', ''].join('\n'),
    );
    assert.equal(terminal.noted(), '');
    assert.equal(stub.requests[0]?.line, 'GET /hub/apis/gateway.portcullis.io/v1alpha1/clusters');
    assert.equal(stub.requests[0]?.accept, 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json');
  });

  test('wide adds the columns of lesser importance', async () => {
    const lines = (await run({ ...byFlags(), output: 'wide' })).printed().split('\n');
    assert.equal(lines[0], 'NAME        AVAILABLE   AGE    ORIGINAL NAME');
    assert.equal(lines[1], 'm1          True        121m   Kind M1');
    assert.equal(lines[2], 'long-name   False       5d     ');
  });

  test('json and yaml print the list as it came', async () => {
    const json = (await run({ ...byFlags(), output: 'json' })).printed();
    const list = JSON.parse(json) as { kind: string; items: unknown };
    assert.equal(list.kind, 'ClusterList');
    assert.deepEqual(list.items, stub.answers.clusters);
    assert.deepEqual(parse((await run({ ...byFlags(), output: 'yaml' })).printed()), list);
    assert.equal(stub.requests[0]?.accept, 'application/json');
  });

  test('no clusters: stdout stays empty for scripts', async () => {
    stub.answers.table = { kind: 'Table', columnDefinitions: [column('Name')], rows: [] };
    const terminal = await run(byFlags());
    assert.equal(terminal.printed(), '');
    assert.equal(terminal.noted(), 'No resources found\n');
  });

  test('escape sequences of a cluster name do not reach the terminal', async () => {
    stub.answers.table = { kind: 'Table', columnDefinitions: [column('Name')], rows: [{ cells: ['\u001b[2Jm1\nm2'] }] };
    assert.equal((await run(byFlags())).printed(), 'NAME\n^[[2Jm1...\n');
  });

  test('a kubeconfig context of one cluster leads to the gateway behind it', async () => {
    await run({ kubeconfig: kubeconfigFile('by-token') });
    assert.equal(stub.requests[0]?.line, 'GET /hub/apis/gateway.portcullis.io/v1alpha1/clusters');
    await run({ kubeconfig: kubeconfigFile('by-file', {}, { tokenFile: 'token', token: 'older' }) });
    await run({ kubeconfig: kubeconfigFile('no-user', {}, {}), token: 'good-token' });
    const pair = await authority.issue([], { commonName: 'ada' });
    const data = (pem: string): string => Buffer.from(pem).toString('base64');
    const user = { 'client-certificate-data': data(pair.cert), 'client-key-data': data(pair.key) };
    await run({
      kubeconfig: kubeconfigFile('by-certificate', { 'certificate-authority-data': data(authority.ca) }, user),
    });
    assert.deepEqual(
      stub.requests.map(({ token }) => token),
      ['good-token', 'good-token', 'good-token', ''],
    );
  });

  test('KUBECONFIG is a list in which the first file wins, else ~/.kube/config is read', async () => {
    const first = kubeconfigFile('first', {}, { token: 'good-token' });
    const second = kubeconfigFile('second', { server: 'https://127.0.0.1:1' }, { token: 'other' });
    await run({}, { env: { KUBECONFIG: `${folder.path}/absent:${first}:${second}` } });
    assert.equal(stub.requests.length, 1);
    const noCurrent = folder.write('no-current', 'kind: Config\n');
    await run({}, { env: { KUBECONFIG: `${noCurrent}:${first}` } });
    assert.equal(stub.requests.length, 2);
    assert.match((await refusal({}, { homeDir: folder.path })).message, /no kubeconfig found: .*\/\.kube\/config/);
    assert.match((await refusal({ kubeconfig: `${folder.path}/absent` })).message, /there is no such file/);
    assert.match((await refusal({ kubeconfig: first, context: 'x' })).nextStep, /Contexts there: c\./);
  });

  test('tls-server-name and insecure-skip-tls-verify of the file are honoured, the latter aloud', async () => {
    const badName = { 'tls-server-name': 'elsewhere.test' };
    assert.match((await refusal({ kubeconfig: kubeconfigFile('bad-name', badName) })).message, /is for another name/);
    await run({ kubeconfig: kubeconfigFile('good-name', { 'tls-server-name': 'gateway.test' }) });
    const insecure = { 'certificate-authority': undefined, 'insecure-skip-tls-verify': true };
    const terminal = await run({ kubeconfig: kubeconfigFile('insecure', insecure) });
    assert.match(terminal.noted(), /skips TLS verification/);
  });

  test('the token of a kubeconfig is never sent to the server of a flag', async () => {
    const file = kubeconfigFile('mixed');
    const failure = await refusal({ server: stub.url, certificateAuthority: caFile }, { env: { KUBECONFIG: file } });
    assert.match(failure.message, /no credential is given/);
    assert.match((await refusal({ ...byFlags(), kubeconfig: file })).message, /cannot be used together/);
    assert.equal(stub.requests.length, 0);
  });

  test('a way to sign in that is not supported is named with a way out', async () => {
    const failure = await refusal({ kubeconfig: kubeconfigFile('exec', {}, { exec: { command: 'login' } }) });
    assert.equal(failure.exitCode, 2);
    assert.match(failure.message, /signs in by "exec"/);
    assert.match(failure.nextStep, /--token/);
    assert.match((await refusal({ kubeconfig: kubeconfigFile('none', {}, {}) })).message, /has no credential/);
  });

  test('a server without tables is told apart', async () => {
    stub.answers.table = { kind: 'ClusterList', items: [] };
    assert.match((await refusal(byFlags())).nextStep, /-o json/);
  });
});
