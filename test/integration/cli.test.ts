// The command line against a real gateway process in front of two simulated clusters. Programs are started without
// blocking, because the simulated clusters live in this very process.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { run } from '../../bin/program.ts';
import { recordingTerminal } from '../../cli/stub-gateway.fixture.ts';
import { startSimulator } from '../../sim/server.ts';
import type { Simulator } from '../../sim/server.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { tempDir } from '../pretend/temp-dir.ts';
import { makeTestAuthority } from '../pretend/certificates.ts';

const executable = new URL('../../bin/portcullis.mjs', import.meta.url).pathname;
const kubectl = spawnSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
const hasKubectl = kubectl.status === 0;
/** The version of Kubernetes that this kubectl is made for. */
const kubectlMinor = /"gitVersion": "v(\d+\.\d+)/.exec(kubectl.stdout)?.[1] ?? '1.36';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('the command line and a gateway', () => {
  const folder = tempDir('cli');
  let simulators: readonly Simulator[];
  let gateway: GatewayProcess;
  let membersFile: string;
  let myConfig: string;

  const program = (command: string, args: readonly string[]): Promise<Outcome> =>
    new Promise((resolve) => {
      execFile(command, args, { env: { ...process.env, KUBECONFIG: myConfig } }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  /** In this process, which saves half a second each; what the executable adds is tested beside it. */
  const portcullis = async (...args: string[]): Promise<Outcome> => {
    const terminal = recordingTerminal({ env: { KUBECONFIG: myConfig } });
    const code = await run(
      args,
      { serve: () => Promise.reject(), demo: () => Promise.reject(), check: () => Promise.reject() },
      terminal,
    );
    return { code, stdout: terminal.printed(), stderr: terminal.noted() };
  };
  const connect = (): string[] => [
    '--server',
    gateway.url,
    '--certificate-authority',
    gateway.caFile,
    '--token',
    'ada-token',
  ];
  const writeMembers = (members: readonly Simulator[]): void =>
    writeFileSync(
      membersFile,
      stringify({
        clusters: members.map(({ name, url, caPem }) => ({
          name,
          cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') },
        })),
        contexts: members.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
        users: members.map(({ name, adminToken }) => ({ name, user: { token: adminToken } })),
      }),
    );

  before(async () => {
    membersFile = join(folder, 'members.yaml');
    myConfig = join(folder, 'my-config');
    simulators = await Promise.all([
      startSimulator({ name: 'east', version: `v${kubectlMinor}.4` }),
      startSimulator({ name: 'west', version: 'v1.20.1' }),
    ]);
    writeMembers(simulators);
    const authority = await makeTestAuthority('people');
    writeFileSync(join(folder, 'people.crt'), authority.ca);
    const grace = await authority.issue([], { commonName: 'grace' });
    writeFileSync(join(folder, 'grace.crt'), grace.cert);
    writeFileSync(join(folder, 'grace.key'), grace.key);
    gateway = await startGatewayProcess({
      kubeconfigs: [membersFile],
      users: [{ token: 'ada-token', name: 'ada', groups: ['dev'] }],
      args: ['--client-ca-file', join(folder, 'people.crt')],
    });
  });
  after(async () => {
    await gateway?.stop();
    await Promise.all((simulators ?? []).map((simulator) => simulator.close()));
  });

  test('get clusters shows what the gateway has, in every form', async () => {
    const table = await program(process.execPath, [executable, 'get', 'clusters', ...connect()]);
    assert.equal(table.code, 0, table.stderr);
    assert.equal(
      (await portcullis('get', 'clusters', ...connect())).stdout.split('\n')[0],
      table.stdout.split('\n')[0],
    );
    const lines = table.stdout.trimEnd().split('\n');
    assert.match(lines[0] ?? '', /^NAME +AVAILABLE +VERSION +SOURCE +IDENTITY +LATENCY +INDEX +AGE$/);
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(/ {3,}/)[0]),
      ['east', 'west'],
    );
    assert.match((await portcullis('get', 'clusters', ...connect(), '-o', 'wide')).stdout, /AGE +\S.*\n/);
    const json = await portcullis('get', 'clusters', ...connect(), '-o', 'json');
    const { items } = JSON.parse(json.stdout) as { items: { metadata: { name: string } }[] };
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['east', 'west'],
    );
  });

  test(
    'kubeconfig merges contexts that kubectl and get clusters use',
    { skip: !hasKubectl && 'no kubectl here' },
    async () => {
      writeFileSync(myConfig, '# mine\nclusters: []\ncontexts: []\nusers: []\n');
      const written = await portcullis('kubeconfig', ...connect(), '--all', '--merge', myConfig);
      assert.equal(written.code, 0, written.stderr);
      assert.equal(written.stdout, '');
      assert.equal(statSync(myConfig).mode & 0o777, 0o600);
      assert.match(readFileSync(myConfig, 'utf8'), /^# mine\n/);
      for (const { name } of simulators) {
        const who = await program('kubectl', ['--context', `portcullis-${name}`, 'auth', 'whoami', '-o', 'json']);
        assert.equal(who.code, 0, who.stderr);
        const { status } = JSON.parse(who.stdout) as { status: { userInfo: { username: string; groups: string[] } } };
        assert.equal(status.userInfo.username, 'ada');
        assert.ok(status.userInfo.groups.includes('dev'));
      }
      const got = await portcullis('get', 'clusters', '--context', 'portcullis-west');
      assert.deepEqual([got.code, got.stderr], [0, '']);
      assert.match(got.stdout, /\neast /);
    },
  );

  test('a client certificate works as well as a token', { skip: !hasKubectl && 'no kubectl here' }, async () => {
    const output = join(folder, 'grace.kubeconfig');
    const files = ['--client-certificate', join(folder, 'grace.crt'), '--client-key', join(folder, 'grace.key')];
    const flags = ['--server', gateway.url, '--certificate-authority', gateway.caFile, ...files];
    const written = await portcullis('kubeconfig', ...flags, '--cluster', 'east', '--output', output);
    assert.equal(written.code, 0, written.stderr);
    const who = await program('kubectl', [
      '--kubeconfig',
      output,
      'auth',
      'whoami',
      '-o',
      'jsonpath={.status.userInfo.username}',
    ]);
    assert.deepEqual([who.code, who.stdout], [0, 'grace'], who.stderr);
    assert.equal((await portcullis('get', 'clusters', '--kubeconfig', output)).code, 0);
  });

  test('kubectl version warns of no skew, and the gateway says which Portcullis it is', async () => {
    // As soon as the gateway has asked its clusters.
    for (let list = ''; !list.includes(`v${kubectlMinor}.4`); await sleep(20))
      list = (await portcullis('get', 'clusters', ...connect())).stdout;
    const { portcullis: own } = JSON.parse((await portcullis('version', '-o', 'json')).stdout) as Record<
      string,
      string
    >;
    if (hasKubectl) {
      const shown = await program('kubectl', [...connect(), 'version']);
      assert.deepEqual([shown.code, shown.stderr], [0, '']);
      assert.match(shown.stdout, new RegExp(`Server Version: v${kubectlMinor}.0\\+portcullis-${own}\n`));
      assert.doesNotMatch(shown.stdout, /warning/i);
    }
    const asked = await portcullis('version', ...connect());
    assert.deepEqual([asked.code, asked.stderr], [0, '']);
    assert.match(
      asked.stdout,
      new RegExp(`^portcullis ${own}\nnode .*\ngateway ${own} \\(Kubernetes ${kubectlMinor}\\)\n$`),
    );
    const json = JSON.parse((await portcullis('version', ...connect(), '-o', 'json')).stdout) as { gateway: object };
    assert.deepEqual(json.gateway, { portcullis: own, kubernetes: kubectlMinor });
    const [east] = simulators;
    const ca = join(folder, 'east.crt');
    writeFileSync(ca, east!.caPem);
    const flags = ['--server', east!.url, '--certificate-authority', ca, '--token', east!.adminToken];
    const cluster = await portcullis('version', ...flags);
    assert.deepEqual([cluster.code, cluster.stdout], [1, '']);
    assert.match(cluster.stderr, /does not report a version of Portcullis\n.*not of a cluster/);
  });

  test('a cluster taken away is taken out of the file', async () => {
    const merged = join(folder, 'merged');
    await portcullis('kubeconfig', ...connect(), '--merge', merged);
    assert.match(readFileSync(merged, 'utf8'), /name: portcullis-west/);
    writeMembers(simulators.slice(0, 1));
    try {
      // The gateway watches its files; how soon it sees the change is for its own tests.
      for (let list = 'west'; list.includes('west'); await sleep(50)) {
        list = (await portcullis('get', 'clusters', ...connect())).stdout;
      }
      const again = await portcullis('kubeconfig', ...connect(), '--all', '--merge', merged);
      assert.match(again.stderr, /removed, because the cluster is gone: portcullis-west\n/);
      assert.doesNotMatch(readFileSync(merged, 'utf8'), /portcullis-west/);
    } finally {
      writeMembers(simulators);
    }
  });

  test('a wrong token, an unknown CA and an unknown cluster are told apart', async () => {
    const wrong: readonly (readonly [args: readonly string[], message: RegExp])[] = [
      [['get', 'clusters', ...connect().slice(0, 4), '--token', 'other'], /does not accept this token \(401\)/],
      [['get', 'clusters', '--server', gateway.url, '--token', 'ada-token'], /not signed by a CA you trust/],
      [['kubeconfig', ...connect(), '--cluster', 'north'], /no cluster "north" that you may see\nClusters there: east/],
    ];
    for (const [args, message] of wrong) {
      const { code, stdout, stderr } = await portcullis(...args);
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /ada-token/);
    }
  });
});
