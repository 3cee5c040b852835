// The index of a gateway with two workers, on real members: one worker writes it, both answer real kubectl's lists and
// watches from it. When the one that writes is killed, the other goes on, and those who watch there miss nothing.
// Runs alone: another worker has two seconds to take over.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual, promisify } from 'node:util';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { eventually } from '../../site/polling.ts';
import { openRaw, requestBytes } from '../../site/raw-client.ts';
import type { RawClient } from '../../site/raw-client.ts';

const run = promisify(execFile);
const program = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const configMaps = '/api/v1/namespaces/team-a/configmaps';
const carol = { name: 'carol', groups: [], token: 'carol-at-the-gateway' };
const operator = { name: 'operator', groups: ['system:masters'], token: 'operator-at-the-gateway' };
/** A worker that takes over has had this long, milliseconds. */
const takeOverMs = 2_000;
let plane: ControlPlane;
let gateway: GatewayProcess;
let kubeconfig: string;
const ends: (() => void)[] = [];

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'], bare: ['m1', 'm2'], audit: false });
  const access = ['generate', 'member-access', '--index', '--index-resources', 'configmaps'];
  const { stdout } = await run(process.execPath, [
    program,
    ...access,
    '--gateway-service-account',
    'portcullis/gateway',
  ]);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: stdout });
    assert.equal(applied.code, 0, applied.stderr);
  }
  for (const name of ['one', 'two', 'three']) for (const member of ['m1', 'm2']) await make(member, name);
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol, operator],
    args: ['--workers', '2', '--index-resources', 'configmaps', '--index-rights', 'rbac'],
  });
  kubeconfig = join(plane.dir, 'index.kubeconfig');
  const to = ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', carol.token];
  await run(process.execPath, [program, 'kubeconfig', ...to, '--all', '--index', '--output', kubeconfig]);
  await eventually('the index is whole at both workers', isWholeAtBoth, { timeoutMs: 60_000 });
});

after(async () => {
  for (const end of ends) end();
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

async function make(member: string, name: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: {} };
  const { status, body } = await plane.member(member).request('POST', configMaps, object);
  assert.equal(status, 201, body);
}

/** Open connections of each worker. */
async function connections(): Promise<readonly number[]> {
  const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
  const found = [...text.matchAll(/^portcullis_worker_connections\{worker="(\d)"\} (\d+)$/gm)];
  return found.toSorted(([, one], [, other]) => Number(one) - Number(other)).map(([, , open]) => Number(open));
}

/**
 * Opens a connection and says at which worker it is. Nothing else may connect meanwhile. A connection that a program
 * has just ended may still be counted at first; when it hides the new one, another is opened.
 */
async function connect(): Promise<{ readonly client: RawClient; readonly worker: number }> {
  const before = await connections();
  const client = await openRaw({ port: gateway.port, ca: gateway.caPem });
  const now = await connections();
  const worker = now.findIndex((open, at) => open > before[at]!);
  if (worker >= 0) return { client, worker };
  client.close();
  await eventually('it is closed', async () => sum(await connections()) < sum(now));
  return await connect();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

async function get(
  client: RawClient,
  path: string,
): Promise<{ readonly status: number; readonly json: any; readonly warnings: string[] }> {
  client.send(requestBytes(`GET ${path}`, [`Authorization: Bearer ${carol.token}`]));
  const answer = await client.answer();
  return { status: answer.status, json: JSON.parse(answer.body), warnings: answer.values('warning') };
}

/** What work gives over one connection to each worker. */
async function atBoth<T>(work: (clients: readonly RawClient[]) => Promise<T>): Promise<T> {
  const clients = [await connect(), await connect()];
  try {
    assert.deepEqual(clients.map(({ worker }) => worker).toSorted(), [0, 1]);
    return await work(clients.map(({ client }) => client));
  } finally {
    for (const { client } of clients) client.close();
    await eventually('they are closed', async () => (await connections()).every((open) => open === 0));
  }
}

async function isWholeAtBoth(): Promise<boolean> {
  return await atBoth(async (clients) => {
    const answers = await Promise.all(
      clients.map((client) => get(client, '/apis/search.portcullis.io/v1alpha1/indexes/default/freshness')),
    );
    return answers.every(
      ({ json }) =>
        json.clusters?.length === 2 &&
        json.clusters.every(
          ({ resources }: { resources: { whole: boolean }[] }) =>
            resources.length > 0 && resources.every(({ whole }) => whole),
        ),
    );
  });
}

/** Runs work while one connection is open to the other worker, so that the next connection is to this one. */
async function at<T>(worker: number, work: () => Promise<T>): Promise<T> {
  const opened: RawClient[] = [];
  const open = await connections();
  // Connections go to the worker with the fewest.
  for (let count = open[1 - worker]!; count <= open[worker]!; count += 1) {
    const one = await connect();
    if (one.worker === worker) {
      const other = await connect();
      one.client.close();
      opened.push(other.client);
      await eventually('it is closed', async () => (await connections())[worker] === open[worker]);
    } else opened.push(one.client);
  }
  const [mine, others] = [(await connections())[worker]!, (await connections())[1 - worker]!];
  assert.ok(mine < others, `${mine} connections at the worker, ${others} at the other`);
  const done = await work();
  for (const client of opened) client.close();
  return done;
}

const kubectlArgs = (...args: readonly string[]): string[] => [
  ...['--kubeconfig', kubeconfig, '--context', 'portcullis-all', '--namespace', 'team-a', ...args],
];
async function kubectl(...args: readonly string[]): Promise<string[]> {
  const options = { env: { PATH: process.env['PATH'], HOME: plane.dir } };
  const before = await connections();
  const { stdout, stderr } = await run(plane.binaries['kubectl']!, kubectlArgs(...args), options);
  assert.equal(stderr, '');
  await eventually('its connection is closed', async () => isDeepStrictEqual(await connections(), before));
  return stdout.trimEnd().split('\n');
}

/** `kubectl get -w` at a worker: the names it printed so far. */
async function watchAt(worker: number): Promise<{ readonly seen: string[]; readonly ended: Promise<unknown> }> {
  return await at(worker, async () => {
    const there = (await kubectl('get', 'configmaps', '--output', 'name')).length;
    const open = (await connections())[worker]!;
    const args = kubectlArgs('get', 'configmaps', '--watch', '--output', 'name');
    const child = spawn(plane.binaries['kubectl']!, args, {
      env: { PATH: process.env['PATH'], HOME: plane.dir },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    ends.push(() => child.kill('SIGKILL'));
    const seen: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => seen.push(line.replace('configmap/', '')));
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await eventually('it watches', async () => seen.length === there && (await connections())[worker]! > open);
    seen.splice(0);
    return { seen, ended };
  });
}

/** Process that writes the index, and when it said so. */
function writers(): readonly { readonly pid: number; readonly atMs: number }[] {
  const lines = gateway
    .log()
    .split('\n')
    .filter((line) => line.includes('index: this process writes it'));
  return lines.map((line) => {
    const { pid, time } = JSON.parse(line) as { pid: number; time: string };
    return { pid, atMs: Date.parse(time) };
  });
}

function slotOf(pid: number): number {
  return Number(new RegExp(`"worker":(\\d+),"workerPid":${pid},"msg":"a worker serves"`).exec(gateway.log())![1]);
}

test('one worker writes, and real kubectl lists and watches the same at each', async () => {
  assert.equal(writers().length, 1);
  const lists = [
    await at(0, () => kubectl('get', 'configmaps', '-o', 'name')),
    await at(1, () => kubectl('get', 'configmaps', '-o', 'name')),
  ];
  assert.equal(lists[0]!.filter((name) => /\/(?:one|two|three)$/.test(name)).length, 6);
  assert.deepEqual(lists[0], lists[1]);
  const watches = [await watchAt(0), await watchAt(1)];
  const names = ['four', 'five', 'six'];
  for (const name of names) await make('m1', name);
  for (const [worker, { seen }] of watches.entries()) {
    await eventually(`worker ${worker} tells of each`, async () => seen.length >= names.length);
    assert.deepEqual(seen.toSorted(), names.toSorted());
  }
  for (const end of ends.splice(0)) end();
  await Promise.all(watches.map(({ ended }) => ended));
});

test('a cluster is read anew, whichever worker is asked for it', async () => {
  const path = '/apis/search.portcullis.io/v1alpha1/indexes/default/rebuild';
  const body = JSON.stringify({ clusters: ['m1'] });
  const headers = [`Authorization: Bearer ${operator.token}`, 'Content-Type: application/json'];
  await atBoth(async (clients) => {
    for (const client of clients) {
      const { json: before } = await get(client, `${proxy}${configMaps}`);
      client.send(requestBytes(`POST ${path}`, [...headers, `Content-Length: ${body.length}`], body));
      assert.equal((await client.answer()).status, 200);
      await eventually('rows were dropped and are back', async () => {
        const { json: now } = await get(client, `${proxy}${configMaps}`);
        // Nothing else changes here, so only the drop and the new rows can give another version.
        const isOther = now.metadata?.resourceVersion > before.metadata.resourceVersion;
        return isOther && isDeepStrictEqual(now.items, before.items);
      });
    }
  });
});

test('a continue token and a resourceVersion of one worker go on at the other', async () => {
  await atBoth(async ([one, other]) => {
    const first = await get(one!, `${proxy}${configMaps}?limit=2`);
    assert.equal(first.json.items.length, 2);
    const token = encodeURIComponent(first.json.metadata.continue);
    const rest = await get(other!, `${proxy}${configMaps}?continue=${token}`);
    assert.equal(rest.status, 200, JSON.stringify(rest.json));
    const all = await get(one!, `${proxy}${configMaps}`);
    assert.equal(first.json.items.length + rest.json.items.length, all.json.items.length);
    assert.deepEqual([all.warnings, rest.warnings], [[], []]);
    const { resourceVersion } = all.json.metadata;
    await make('m2', 'seven');
    const query = `watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=2`;
    other!.send(requestBytes(`GET ${proxy}${configMaps}?${query}`, [`Authorization: Bearer ${carol.token}`]));
    const { status, body } = await other!.answer();
    assert.equal(status, 200, body);
    const events = body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; object: { metadata: { name: string } } });
    assert.deepEqual(
      events.filter(({ type }) => type !== 'BOOKMARK').map(({ type, object }) => [type, object.metadata.name]),
      [['ADDED', 'seven']],
    );
  });
});

test('the worker that writes is killed: the other writes within two seconds, and those who watch there see everything once', async () => {
  const [writer] = writers();
  const survivor = 1 - slotOf(writer!.pid);
  const watch = await watchAt(survivor);
  const names: string[] = [];
  const over = new AbortController();
  const making = (async () => {
    while (!over.signal.aborted) {
      const name = `churn-${names.length}`;
      names.push(name);
      await make(names.length % 2 === 0 ? 'm1' : 'm2', name);
    }
  })();
  await eventually('changes are told', async () => watch.seen.length > 20);
  const killedMs = Date.now();
  process.kill(writer!.pid, 'SIGKILL');
  await eventually('another writes', async () => writers().length === 2);
  const next = writers()[1]!;
  assert.notEqual(next.pid, writer!.pid);
  assert.ok(next.atMs - killedMs <= takeOverMs, `${next.atMs - killedMs} ms`);
  const known = watch.seen.length;
  await eventually('changes are told again', async () => watch.seen.length > known + 20);
  over.abort();
  await making;
  await eventually('every change is told', async () => watch.seen.length >= names.length);
  assert.deepEqual(watch.seen.toSorted(), names.toSorted());
  console.log(`${names.length} changes; another worker wrote ${next.atMs - killedMs} ms after the kill`);
  for (const end of ends.splice(0)) end();
  await watch.ended;
  await eventually('there are two workers again', async () => (await connections()).length === 2);
  await eventually('both know all', isWholeAtBoth, { timeoutMs: 30_000 });
});

test('SIGTERM ends all in order, and exits 0', async () => {
  assert.equal(await gateway.stop('SIGTERM'), 0);
});
