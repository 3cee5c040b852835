// FLT-19: the index is corrupt, lost, late, or its watches are all told 410 at once. An answer with rows missing looks
// like one of a cluster with fewer objects, so through every fault somebody asks all the time, and what is not whole
// must say so.
// Runs alone: it says within which seconds a fault is seen.
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test, type TestContext } from 'node:test';

import { indexRules } from '../../lib/rights/index-rules.ts';
import { startControlPlane } from '../controlplane/fixture.ts';
import type { ControlPlane } from '../controlplane/fixture.ts';
import { ask } from '../e2e/kubectl/kubectl-as.ts';
import { eventually } from '../site/polling.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { figure, printScale, scaledEnvironment } from './scale.ts';
import { grantedClusterRole, roleBinding, userSubject } from '../site/rbac.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const everywhere = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy/api/v1/configmaps';
const live = '/clusters/*/proxy/api/v1/namespaces/team-a/configmaps';
/** Sees all of every member. */
const alice = { name: 'alice', groups: [], token: 'alice-at-the-gateway' };
/** Sees one namespace. */
const bob = { name: 'bob', groups: [], token: 'bob-at-the-gateway' };
const perNamespace = 120;
let plane: ControlPlane;
let gateway: GatewayProcess;
const dataDir = tempDir('index-faults');

const configMap = (name: string, namespace: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { text: `${namespace}/${name}`.repeat(50) },
});

before(async () => {
  printScale('index faults', `${4 * perNamespace} objects of two members`);
  plane = await startControlPlane({ members: ['m1', 'm2'], audit: false, bare: ['m1', 'm2'] });
  await Promise.all(
    plane.members.map(async (member) => {
      await member.apply(
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'secret' } },
        ...grantedClusterRole('portcullis-index', indexRules(['configmaps']), userSubject('portcullis:index')),
        roleBinding('team-a', 'bob-view', 'ClusterRole/test-view', userSubject(bob.name)),
      );
      for (let i = 0; i < perNamespace; i += 1)
        await member.apply(configMap(`c${i}`, 'team-a'), configMap(`s${i}`, 'secret'));
    }),
  );
  gateway = await start();
  await whole();
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

async function start(): Promise<GatewayProcess> {
  return await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [alice, bob],
    dataDir,
    args: ['--index-resources', 'configmaps'],
    env: scaledEnvironment,
  });
}

interface Seen {
  readonly status: number;
  /** `cluster/namespace/name`, sorted. */
  readonly rows: readonly string[];
  readonly warning: string;
}

interface Listed {
  readonly items?: readonly {
    readonly metadata: {
      readonly name: string;
      readonly namespace: string;
      readonly annotations: Readonly<Record<string, string>>;
    };
  }[];
}

async function seen(user: { readonly token: string }, path = everywhere): Promise<Seen> {
  const { status, body, headers } = await ask(gateway, user.token, 'GET', path);
  const { items = [] } = JSON.parse(body.toString('utf8')) as Listed;
  const rows = items.map(
    ({ metadata }) =>
      `${metadata.annotations['shadow.clusterpedia.io/cluster-name']}/${metadata.namespace}/${metadata.name}`,
  );
  return { status, rows: rows.toSorted(), warning: String(headers['warning'] ?? '') };
}

/** What the members themselves hold, for one who may see these namespaces. */
async function truth(namespace?: string): Promise<readonly string[]> {
  const rows: string[] = [];
  for (const member of plane.members) {
    const path = namespace === undefined ? '' : `/namespaces/${namespace}`;
    const { body } = await member.request('GET', `/api/v1${path}/configmaps`);
    for (const { metadata } of (JSON.parse(body) as Listed).items ?? [])
      rows.push(`${member.name}/${metadata.namespace}/${metadata.name}`);
  }
  return rows.toSorted();
}

/** Resolves once alice and bob both see exactly what the members hold for them, without a warning. */
async function whole(): Promise<void> {
  await eventually(
    'the index is whole',
    async () => {
      for (const [user, namespace] of [[alice, undefined] as const, [bob, 'team-a'] as const]) {
        const { status, rows, warning } = await seen(user);
        assert.deepEqual([status, warning], [200, '']);
        assert.deepEqual(rows, await truth(namespace));
      }
      return true;
    },
    { timeoutMs: 60_000, everyMs: 100 },
  );
}

interface Watchman {
  /** Ends the asking; rejects with the first answer that was wrong. */
  stop(): Promise<{ readonly answers: number; readonly reported: number }>;
}

/**
 * Asks as both users until it is stopped, while the objects stay as they are: no row that is not there, none of bob's
 * beyond his namespace, and no answer that lacks rows without a warning.
 */
async function watchOver(t: TestContext): Promise<Watchman> {
  const expected = new Map<unknown, readonly string[]>([
    [alice, await truth()],
    [bob, await truth('team-a')],
  ]);
  const over = new AbortController();
  t.after(() => over.abort());
  let answers = 0;
  let reported = 0;
  const asking = (async () => {
    while (!over.signal.aborted) {
      for (const user of [alice, bob]) {
        let answer: Seen;
        try {
          answer = await seen(user);
        } catch {
          // The process is just not there.
          await delay(20);
          continue;
        }
        answers += 1;
        const { status, rows, warning } = answer;
        if (status !== 200) {
          assert.equal(status, 503, `${user.name}: ${status}`);
          reported += 1;
          continue;
        }
        const there = new Set(expected.get(user));
        assert.deepEqual(
          rows.filter((row) => !there.has(row)),
          [],
          `rows that are not ${user.name}'s`,
        );
        if (rows.length < there.size) {
          assert.match(warning, /m1|m2/, `${user.name} got ${rows.length} of ${there.size} rows and no warning`);
          reported += 1;
        }
      }
      await delay(5);
    }
  })();
  // Looked at when it is stopped.
  asking.catch(() => undefined);
  return {
    async stop() {
      over.abort();
      await asking;
      return { answers, reported };
    },
  };
}

/** Where the store is, below the folder of the index. */
function storeFile(name: string): string | undefined {
  const folder = join(dataDir, 'index');
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((path) => basename(path) === name);
  return found === undefined ? undefined : join(folder, found);
}

/**
 * Overwrites all but the first page of the index file and of what was committed since the last checkpoint: whichever of
 * them a row is read from now.
 */
function damage(): void {
  const firstPage = 16_384;
  let bytes = 0;
  for (const name of ['index.db', 'index.db-wal']) {
    const file = storeFile(name);
    if (file === undefined) continue;
    const handle = openSync(file, 'r+');
    const { size } = fstatSync(handle);
    if (size > firstPage)
      bytes += writeSync(handle, Buffer.alloc(size - firstPage, 'damage '), 0, undefined, firstPage);
    closeSync(handle);
  }
  assert.ok(bytes > 100_000, `only ${bytes} bytes were damaged`);
}

test('an index that was damaged or is gone when the gateway starts is built anew; meanwhile every answer that is not whole says so (FLT-19)', async (t) => {
  const watchman = await watchOver(t);
  await gateway.stop();
  damage();
  let startedMs = performance.now();
  gateway = await start();
  await whole();
  const damagedMs = Math.round(performance.now() - startedMs);
  assert.match(gateway.log(), /set aside/);
  assert.ok(storeFile('index.db.aside') !== undefined);
  await gateway.stop('SIGKILL');
  rmSync(join(dataDir, 'index'), { recursive: true });
  startedMs = performance.now();
  gateway = await start();
  await whole();
  const { answers, reported } = await watchman.stop();
  figure(
    'FLT-19',
    `whole again ${damagedMs} ms after a start on a damaged index, ${Math.round(performance.now() - startedMs)} ms on none; ${answers} answers, ${reported} of them not whole, all said so`,
  );
});

test('an index damaged while it is read is built anew by itself; until then it answers what is right or 503, and the live fan-out goes on (FLT-19)', async (t) => {
  const watchman = await watchOver(t);
  const startedMs = performance.now();
  damage();
  await plane.member('m1').apply(configMap('changed', 'default'));
  await plane.member('m1').request('DELETE', '/api/v1/namespaces/default/configmaps/changed');
  await eventually('the damage is noticed', () => /damaged/.test(gateway.log()), { timeoutMs: 60_000 });
  const { status, rows } = await seen(bob, live);
  assert.equal(status, 200);
  assert.deepEqual(rows, await truth('team-a'));
  // The second time within a minute it waits.
  await eventually('it is set aside', () => /set aside as/.test(gateway.log()), { timeoutMs: 60_000 });
  await whole();
  const { answers, reported } = await watchman.stop();
  const tookMs = Math.round(performance.now() - startedMs);
  figure(
    'FLT-19',
    `damaged while running: whole after ${tookMs} ms; ${answers} answers, ${reported} of them 503 or not whole and said so`,
  );
});

test('rows of a member that does not answer are shown as old, and are new again once it does (FLT-19)', async () => {
  const member = plane.member('m2');
  member.pauseProcess();
  try {
    const old = await eventually(
      'the member is named with an age',
      async () => {
        const answer = await seen(alice);
        return /m2.*shown as of .* ago/.test(answer.warning) && answer;
      },
      { timeoutMs: 120_000, everyMs: 200 },
    );
    assert.equal(old.rows.filter((row) => row.startsWith('m2/')).length >= 2 * perNamespace, true);
    assert.doesNotMatch(old.warning, /cluster m1/);
  } finally {
    member.resumeProcess();
  }
  await member.apply(configMap('after-the-silence', 'team-a'));
  await whole();
});

test('when every watch of a member is told 410 at once, its rows stay until they are listed again (FLT-19)', async (t) => {
  const member = plane.member('m1');
  const watchman = await watchOver(t);
  // Its history ends with its API server; what it did meanwhile is behind the version the index has.
  gateway.child.kill('SIGSTOP');
  await member.restart();
  for (let i = 0; i < 30; i += 1) {
    await member.apply(configMap('storm', 'default'));
    await member.request('DELETE', '/api/v1/namespaces/default/configmaps/storm');
  }
  await member.kill();
  await member.restart();
  gateway.child.kill('SIGCONT');
  await whole();
  await watchman.stop();
  const made = await member.request('POST', '/api/v1/namespaces/team-a/configmaps', configMap('after-410', 'team-a'));
  assert.equal(made.status, 201, made.body);
  await whole();
});
