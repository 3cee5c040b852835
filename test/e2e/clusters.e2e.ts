// The clusters API as kubectl and as our own command line see it. kubectl asks for Tables, watches, discovery and
// OpenAPI in ways of its own, so only kubectl proves them.
// Landing tier: clusters of kubeconfig files, kept current.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { parse, stringify } from 'yaml';

import { startControlPlane } from '../controlplane/fixture.ts';
import type { CommandResult, ControlPlane } from '../controlplane/fixture.ts';
import { freePort, runCommand } from '../controlplane/processes.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { clusterAt, writeContexts } from './kubectl/contexts.ts';
import type { TestContext } from './kubectl/contexts.ts';
import { tableCells } from './kubectl/kubectl-as.ts';
import { eventually } from '../site/polling.ts';

const carol = { token: 'carol-at-the-gateway', name: 'carol', groups: ['operators'] };
const resource = 'clusters.gateway.portcullis.io';
const portcullis = join(import.meta.dirname, '..', '..', 'bin', 'portcullis.mjs');
let plane: ControlPlane;
let gateway: GatewayProcess;
let kubeconfig: string;
let contexts: readonly TestContext[];
let home: string;

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'] });
  const [one, two] = [plane.member('m1'), plane.member('m2')];
  contexts = [
    {
      name: 'm1',
      cluster: clusterAt(one.url, one.caPem),
      user: { token: one.gatewayToken },
      labels: { env: 'prod', region: 'north' },
    },
    { name: 'm2', cluster: clusterAt(two.url, two.caPem), user: { token: two.gatewayToken }, labels: { env: 'dev' } },
    {
      name: 'Off Line',
      cluster: clusterAt(`https://127.0.0.1:${await freePort()}`, one.caPem),
      user: { token: 'secret-of-off-line' },
    },
  ] as readonly TestContext[];
  kubeconfig = writeContexts(join(plane.dir, 'contexts.kubeconfig'), contexts);
  home = mkdtempSync(join(plane.dir, 'home-'));
  gateway = await startGatewayProcess({
    kubeconfigs: [kubeconfig],
    users: [carol],
    config: { probeIntervalSeconds: 0.5 },
  });
  await eventually('both members answer', async () => {
    const { stdout } = await kubectl('get', resource);
    return /^m1 +True/m.test(stdout) && /^m2 +True/m.test(stdout) && /^off-line +False/m.test(stdout);
  });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

function access(): readonly string[] {
  return ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', carol.token];
}

function kubectl(...args: string[]): Promise<CommandResult> {
  const env = { HOME: home, KUBECONFIG: '/dev/null' };
  return runCommand(plane.binaries['kubectl']!, [...access(), ...args], { env });
}

/** Output of a kubectl that must succeed. */
async function shown(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubectl(...args);
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  return stdout;
}

test('kubectl get prints name, availability, version, source, identity, latency and age', async () => {
  const [header, ...lines] = tableCells(await shown('get', resource));
  assert.deepEqual(header, ['NAME', 'AVAILABLE', 'VERSION', 'SOURCE', 'IDENTITY', 'LATENCY', 'INDEX', 'AGE']);
  const { gitVersion } = JSON.parse((await plane.member('m1').request('GET', '/version')).body) as {
    gitVersion: string;
  };
  const cells = new Map(lines.map(([name, ...rest]) => [name, rest]));
  assert.deepEqual([...cells.keys()], ['m1', 'm2', 'off-line']);
  assert.deepEqual(cells.get('m1')!.slice(0, 4), ['True', gitVersion, 'kubeconfig', 'impersonate']);
  assert.match(cells.get('m1')![4]!, /^\d+ms$/);
  assert.equal(cells.get('m1')![5], '-', 'nobody has asked the index');
  assert.match(cells.get('m1')![6]!, /^\d+s$/);
  assert.deepEqual(cells.get('off-line')!.slice(0, 2), ['False', '<unknown>']);
  assert.deepEqual(tableCells(await shown('get', 'pcl', 'm1'))[1]?.slice(0, 4), [
    'm1',
    'True',
    gitVersion,
    'kubeconfig',
  ]);
});

test('kubectl version warns of no skew between itself and the gateway in front of clusters of its version', async () => {
  const { code, stdout, stderr } = await kubectl('version');
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /Server Version: v1\.\d+\.0\+portcullis-/);
  assert.doesNotMatch(stdout, /warning/i);
});

test('kubectl get -o wide adds reason, server, credential and original name', async () => {
  const [header, ...lines] = tableCells(await shown('get', resource, '-o', 'wide'));
  assert.deepEqual(header?.slice(8), ['REASON', 'SERVER', 'CREDENTIAL', 'ORIGINAL NAME']);
  const offLine = lines.find(([name]) => name === 'off-line')!;
  assert.equal(offLine[8], 'ConnectionRefused');
  assert.match(offLine[9]!, /^https:\/\/127\.0\.0\.1:\d+$/);
  assert.deepEqual(offLine.slice(10), ['token', 'Off Line']);
});

test('kubectl get -o yaml, json, name and jsonpath show objects without anything secret', async () => {
  const yaml = await shown('get', resource, 'm1', '-o', 'yaml');
  const object = parse(yaml) as {
    kind: string;
    metadata: { name: string; uid: string; labels: object };
    spec: { server: string };
  };
  assert.equal(object.kind, 'Cluster');
  assert.equal(object.spec.server, plane.member('m1').url);
  assert.deepEqual(object.metadata.labels, { env: 'prod', region: 'north' });
  const everything = await shown('get', resource, '-o', 'json');
  assert.equal((JSON.parse(everything) as { items: object[] }).items.length, 3);
  for (const secret of [plane.member('m1').gatewayToken, 'secret-of-off-line', carol.token])
    assert.ok(!everything.includes(secret) && !yaml.includes(secret));
  assert.equal(
    await shown('get', resource, '-o', 'name'),
    ['m1', 'm2', 'off-line'].map((name) => `cluster.gateway.portcullis.io/${name}\n`).join(''),
  );
  const path = '{.items[*].status.conditions[?(@.type=="Available")].status}';
  assert.equal(await shown('get', resource, '-o', `jsonpath=${path}`), 'True True False');
});

test('label and field selectors', async () => {
  const named = async (...args: string[]): Promise<string[]> => {
    const output = await shown('get', resource, '-o', 'custom-columns=:metadata.name', '--no-headers', ...args);
    return output.split('\n').filter((line) => line !== '');
  };
  assert.deepEqual(await named('-l', 'env=prod'), ['m1']);
  assert.deepEqual(await named('-l', 'env in (prod,dev),region!=north'), ['m2']);
  assert.deepEqual(await named('-l', '!env'), ['off-line']);
  assert.deepEqual(await named('-l', 'env'), ['m1', 'm2']);
  assert.deepEqual(await named('--field-selector', 'metadata.name=m2'), ['m2']);
  assert.equal((await kubectl('get', resource, '-l', 'env=(')).code, 1);
});

test('explain, api-resources, describe, wait and a refused delete', async () => {
  assert.match(await shown('explain', resource), /KIND: +Cluster\n/);
  assert.match(await shown('explain', `${resource}.spec.server`), /FIELD: server <string>/);
  assert.match(await shown('explain', resource, '--recursive'), /latencyMilliseconds/);
  assert.match(
    await shown('api-resources', '--api-group=gateway.portcullis.io'),
    /clusters +pcl +gateway\.portcullis\.io\/v1alpha1 +false +Cluster/,
  );
  assert.match(await shown('describe', resource, 'off-line'), /Message: .*connection refused/);
  assert.match(await shown('wait', '--for=condition=Available', `${resource}/m1`), /condition met/);
  assert.match(await shown('wait', '--for=condition=Available=false', `${resource}/off-line`), /condition met/);
  const timedOut = await kubectl('wait', '--for=condition=Available', '--timeout=1s', `${resource}/off-line`);
  assert.equal(timedOut.code, 1);
  const deleted = await kubectl('delete', resource, 'm1');
  assert.equal(deleted.code, 1);
  assert.match(deleted.stderr, /clusters are read-only here: the gateway makes them from its sources of clusters/);
  const missing = await kubectl('get', resource, 'nowhere');
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /\(NotFound\): clusters\.gateway\.portcullis\.io "nowhere" not found/);
});

test('get -w shows what changes: a member that dies and comes back, a cluster that is added and removed', async () => {
  const child = spawn(plane.binaries['kubectl']!, [...access(), 'get', resource, '-w'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { HOME: home, KUBECONFIG: '/dev/null' },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const prints = async (pattern: RegExp): Promise<void> => {
    const from = output.length;
    await eventually(`kubectl prints ${String(pattern)}`, () => pattern.test(output.slice(from)), {
      timeoutMs: 40_000,
    });
  };
  try {
    await eventually('the first rows', () => /^off-line /m.test(output));
    const two = plane.member('m2');
    await Promise.all([prints(/^m2 +False/m), two.kill()]);
    await Promise.all([prints(/^m2 +True/m), two.restart()]);
    const extra = { ...contexts[0]!, name: 'extra' };
    writeContexts(kubeconfig, [...contexts, extra]);
    await prints(/^extra +True/m);
    writeContexts(kubeconfig, contexts);
    await prints(/^extra /m);
    await eventually('it is gone from the list', async () => !/^extra/m.test(await shown('get', resource)));
  } finally {
    child.kill('SIGINT');
  }
  await once(child, 'close');
});

test('portcullis get clusters prints the same table, and json and yaml', async () => {
  const run = async (...args: string[]): Promise<string> => {
    const result = await runCommand(process.execPath, [portcullis, 'get', 'clusters', ...access(), ...args]);
    assert.equal(result.code, 0, result.stderr);
    return result.stdout;
  };
  for (const format of [[], ['-o', 'wide']]) {
    // Ages, and now and then a latency, change between the two.
    const steady = (text: string): string => text.replaceAll(/\b\d+(?:ms|s|m)\d*s? */g, '').replaceAll(/ +/g, ' ');
    assert.equal(steady(await run(...format)), steady(await shown('get', resource, ...format)));
  }
  for (const format of ['json', 'yaml']) {
    const text = await run('-o', format);
    const list = (format === 'json' ? JSON.parse(text) : parse(text)) as {
      kind: string;
      items: { metadata: { name: string } }[];
    };
    assert.equal(list.kind, 'ClusterList');
    assert.deepEqual(
      list.items.map(({ metadata }) => metadata.name),
      ['m1', 'm2', 'off-line'],
    );
  }
});

test('portcullis kubeconfig --all --merge adds contexts that kubectl can use, and keeps what was there', async () => {
  const merged = join(home, 'merged.kubeconfig');
  const own = { name: 'mine', cluster: { server: 'https://127.0.0.1:1' } };
  writeFileSync(
    merged,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [own],
      users: [{ name: 'me', user: { token: 'mine' } }],
      contexts: [{ name: 'mine', context: { cluster: 'mine', user: 'me' } }],
      'current-context': 'mine',
    }),
  );
  for (let i = 0; i < 2; i++) {
    const result = await runCommand(process.execPath, [
      portcullis,
      'kubeconfig',
      ...access(),
      '--all',
      '--merge',
      merged,
    ]);
    assert.equal(result.code, 0, result.stderr);
  }
  assert.equal(statSync(merged).mode & 0o777, 0o600);
  const env = { HOME: home, KUBECONFIG: merged };
  const run = (...args: string[]): Promise<CommandResult> => runCommand(plane.binaries['kubectl']!, args, { env });
  assert.equal(
    (await run('config', 'get-contexts', '-o', 'name')).stdout.trim().split('\n').toSorted().join(' '),
    'mine portcullis-m1 portcullis-m2 portcullis-off-line',
  );
  assert.equal((await run('config', 'current-context')).stdout, 'mine\n');
  for (const name of ['m1', 'm2']) {
    const listed = await run('--context', `portcullis-${name}`, 'get', 'namespaces', '-o', 'name');
    assert.match(listed.stdout, /^namespace\/team-a$/m, listed.stderr);
    const whoami = await run('--context', `portcullis-${name}`, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo}');
    assert.equal((JSON.parse(whoami.stdout) as { username: string }).username, 'carol');
  }
  const offLine = await run('--context', 'portcullis-off-line', 'get', 'namespaces');
  assert.equal(offLine.code, 1);
  assert.match(offLine.stderr, /off-line.*refused/);
  const clusters = await runCommand(process.execPath, [portcullis, 'get', 'clusters', '--context', 'portcullis-m1'], {
    env,
  });
  assert.equal(clusters.code, 0, clusters.stderr);
  assert.match(clusters.stdout, /^m2 +True/m);
});
