// Objects of real API servers change all the time while connections are cut, servers, gateways and processes that
// follow are killed, members wiped and set back; afterwards the index is the members' objects, its log never went back,
// and every watcher has what the members have. A churn that stands still while a member is down proves little, so the
// others' goes on.
// Runs alone: objects change as fast as one machine lets them.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { indexRules } from '../../../../lib/rights/index-rules.ts';
import { startControlPlane } from '../../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../../controlplane/fixture.ts';
import { startGatewayProcess, type GatewayProcess } from '../../../gateway-process.ts';
import { startRelay, type Relay } from '../../../hub/relay.ts';
import type { SyncProcessOptions } from '../../../index/sync-process.ts';
import { memberSpec, startSyncSite, type SyncSite } from '../../../index/sync-site.ts';
import { ask } from '../../kubectl/kubectl-as.ts';
import { changesTold, churn } from './churn.ts';
import { backUpEtcd, wipeMember } from '../../member-lives.ts';
import { eventually } from '../../../site/polling.ts';
import { startReplayedWatch, type ReplayedWatch } from '../../streams/replayed-watch.ts';
import { grantedClusterRole, userSubject } from '../../../site/rbac.ts';

const configMaps = { group: '', resource: 'configmaps' };
const collection = '/api/v1/namespaces/team-a/configmaps';
const seconds = Number(process.env['PORTCULLIS_CHURN_SECONDS'] ?? '25');
/** Of each member. */
const changesPerSecond = Number(process.env['PORTCULLIS_CHURN_RATE'] ?? '100');
/** Two members are enough to tell one from another. */
const names = ['m1', 'm2', 'm3', 'm4'].slice(0, Number(process.env['PORTCULLIS_CHURN_MEMBERS'] ?? '2'));

let plane: ControlPlane;
let relay: Relay;
let site: SyncSite | undefined;
let gateway: GatewayProcess | undefined;
/** One that has taken the place of the fixture's. */
let ownEtcd: ChildProcess | undefined;

before(async () => {
  plane = await startControlPlane({ members: names, bare: names, audit: false });
  relay = await startRelay(Number(new URL(plane.member('m1').url).port));
  for (const member of plane.members) await grantIndex(member);
});
after(async () => {
  await site?.close();
  await gateway?.stop('SIGKILL');
  relay?.close();
  // The folder of etcd is deleted with the control plane.
  ownEtcd?.kill('SIGKILL');
  await plane?.stop();
});

async function grantIndex(member: Member): Promise<void> {
  const rules = indexRules(['configmaps']);
  await member.apply(...grantedClusterRole('portcullis-index', rules, userSubject('portcullis:index')));
}

async function start(directory: string): Promise<SyncSite> {
  const specs = plane.members.map((member) => {
    const url = member.name === 'm1' ? `https://127.0.0.1:${relay.port}` : member.url;
    return memberSpec(member.name, { ...member, url }, member.gatewayToken);
  });
  return await startSyncSite({
    directory,
    specs,
    resources: ['configmaps'],
    timing: { watchSecondsMin: 3, watchSecondsMax: 6, stallGraceMs: 1_000, positionEveryMs: 500 },
  });
}

/** Follows in a process of its own, which is killed in the midst of it. */
async function followAndDie(directory: string): Promise<void> {
  const options: SyncProcessOptions = {
    directory,
    resources: ['configmaps'],
    members: plane.members.map((member) => ({
      name: member.name,
      url: member.name === 'm1' ? `https://127.0.0.1:${relay.port}` : member.url,
      caPem: member.caPem,
      token: member.gatewayToken,
    })),
  };
  const script = join(import.meta.dirname, '../../../index/sync-process.ts');
  const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const gone = once(child, 'exit');
  try {
    const said = await Promise.race([once(child.stdout, 'data'), gone]);
    assert.match(String(said[0]), /following/);
    await delay(1_000 + Math.random() * 500);
  } finally {
    child.kill('SIGKILL');
    await gone;
  }
}

const versionOf = (raw: Uint8Array | string): bigint =>
  BigInt(JSON.parse(Buffer.from(raw).toString('utf8')).metadata.resourceVersion);

test('after churn with cuts, silence, a killed member and a killed process the index is the members, and its log only went forward', async () => {
  const directory = mkdtempSync(join(plane.dir, 'index-'));
  site = await start(directory);
  await eventually('all are followed', () =>
    site!.sync.state().every(({ types }) => types.length > 0 && types.every(({ phase }) => phase === 'watching')),
  );
  const from = site.store.resourceVersion();
  const over = new AbortController();
  const churning = plane.members.map((member) => churn(member, { collection, changesPerSecond, signal: over.signal }));
  const faults: readonly (() => Promise<void>)[] = [
    async () => {
      relay.set('cut');
      await delay(500);
      relay.set('open');
    },
    async () => {
      await site!.close();
      await followAndDie(directory);
      site = await start(directory);
    },
    async () => {
      await plane.member('m2').kill();
      await delay(1_000);
      await plane.member('m2').restart();
    },
    async () => {
      relay.set('silent');
      await delay(2_000);
      relay.set('open');
      relay.set('cut');
      relay.set('open');
    },
  ];
  const endMs = performance.now() + seconds * 1000;
  for (let turn = 0; performance.now() < endMs || turn < faults.length; turn += 1) {
    await faults[turn % faults.length]!();
    await delay(1_500);
  }
  over.abort();
  const churned = await Promise.all(churning);
  assert.ok(
    churned.every(({ changes }) => changes > seconds * 5),
    `changes: ${changesTold(churned)}`,
  );

  await eventually(
    'the rows are the members',
    async () => {
      const rows = await site!.rows(configMaps);
      const wanted = new Map<string, bigint>();
      for (const member of plane.members) {
        const { items } = JSON.parse((await member.request('GET', '/api/v1/configmaps')).body);
        for (const { metadata } of items) {
          wanted.set(`${member.name}/${metadata.namespace}/${metadata.name}`, BigInt(metadata.resourceVersion));
        }
      }
      assert.deepEqual(
        new Map([...rows].map(([key, raw]) => [key, versionOf(raw)]).toSorted() as never),
        new Map([...wanted].toSorted()),
      );
      return true;
    },
    { timeoutMs: 60_000, everyMs: 500 },
  );

  const newest = new Map<string, bigint>();
  let entries = 0;
  let at = from;
  for (;;) {
    const some = await site.store.changes(at, ['configmaps.'], 1000);
    if (some.length === 0) break;
    for (const { uid, resourceVersion, after: row } of some) {
      assert.ok(resourceVersion > at, 'the log only goes forward');
      at = resourceVersion;
      entries += 1;
      if (row === undefined) continue;
      const version = versionOf(row);
      assert.ok(version > (newest.get(uid) ?? 0n), `${uid} went from ${newest.get(uid)} to ${version}`);
      newest.set(uid, version);
    }
  }
  assert.ok(
    entries > churned.reduce((sum, { changes }) => sum + changes, 0) / 4,
    `${entries} entries of ${changesTold(churned)} changes`,
  );
  console.log(`changes ${changesTold(churned)}, log entries ${entries}, objects seen ${newest.size}`);
});

const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const carol = { name: 'carol', groups: [], token: 'carol-at-the-gateway' };

async function startGateway(): Promise<GatewayProcess> {
  const dataDir = join(plane.dir, 'gateway');
  mkdirSync(dataDir, { recursive: true });
  const kubeconfig = join(dataDir, 'members.kubeconfig');
  const text = readFileSync(plane.gatewayKubeconfig, 'utf8');
  writeFileSync(kubeconfig, text.replaceAll(plane.member('m1').url, `https://127.0.0.1:${relay.port}`));
  return await startGatewayProcess({
    kubeconfigs: [kubeconfig],
    users: [carol],
    dataDir,
    port: gateway?.port ?? 0,
    args: ['--index-resources', 'configmaps', '--index-rights', 'rbac'],
  });
}

/** Version by uid of what some members have. */
async function memberVersions(members: readonly Member[]): Promise<ReadonlyMap<string, bigint>> {
  const versions = new Map<string, bigint>();
  for (const member of members) {
    const { items } = JSON.parse((await member.request('GET', collection)).body) as {
      readonly items: readonly { readonly metadata: { readonly uid: string; readonly resourceVersion: string } }[];
    };
    for (const { metadata } of items) versions.set(metadata.uid, BigInt(metadata.resourceVersion));
  }
  return new Map([...versions].toSorted());
}

test('each watcher has in the end what the members have, after kills of gateway and member, cut lines, a wiped member and one set back', async () => {
  await site?.close();
  site = undefined;
  gateway = await startGateway();
  const line = await startRelay(gateway.port);
  let isSetBack = false;
  const over = new AbortController();
  const watchers: ReplayedWatch[] = [];
  try {
    const start = (name: string, path: string): void => {
      const whom = { ca: gateway!.caPem, port: line.port, token: carol.token };
      watchers.push(startReplayedWatch({ ...whom, isSetBack: () => isSetBack, name, path }));
    };
    start('merged', `${proxy}${collection}`);
    start('of Clusterpedia', `/apis/clusterpedia.io/v1beta1/resources${collection}`);
    for (const name of names) start(name, `${proxy}/clusters/${name}${collection}`);
    await eventually('all watch', () => watchers.every(({ counts }) => counts.watches > 0), { timeoutMs: 60_000 });

    const churning = plane.members.map((member) =>
      churn(member, { collection, changesPerSecond, signal: over.signal }),
    );
    const last = plane.members.at(-1)!;
    /** Resolves when each watches anew: a watch that was not there yet would not be cut by what comes next. */
    const watchedAgain = (before: readonly number[]): Promise<boolean> =>
      eventually('all watch again', () => watchers.every(({ counts }, i) => counts.watches > before[i]!), {
        timeoutMs: 60_000,
      });
    const repeated: readonly (() => Promise<void>)[] = [
      async () => {
        const before = watchers.map(({ counts }) => counts.watches);
        line.set('cut');
        await delay(300);
        line.set('open');
        await watchedAgain(before);
      },
      async () => {
        const before = watchers.map(({ counts }) => counts.watches);
        await gateway!.stop('SIGKILL');
        gateway = await startGateway();
        await watchedAgain(before);
      },
      async () => {
        await plane.member('m2').kill();
        await delay(500);
        await plane.member('m2').restart();
      },
      async () => {
        relay.set('silent');
        await delay(1_000);
        relay.set('cut');
        relay.set('open');
      },
    ];
    const once: readonly (() => Promise<void>)[] = [
      async () => {
        await wipeMember(last);
        await grantIndex(last);
      },
      async () => {
        const backup = backUpEtcd(plane, 'etcd-backup');
        await delay(2_000);
        isSetBack = true;
        ownEtcd = await backup.restore();
      },
    ];
    const faults = [...repeated, ...once];
    const endMs = performance.now() + seconds * 1000;
    for (let turn = 0; performance.now() < endMs || turn < faults.length; turn += 1) {
      await (faults[turn] ?? repeated[turn % repeated.length]!)();
      await delay(1_000);
    }
    over.abort();
    const churned = await Promise.all(churning);

    await eventually(
      'index and watchers have what the members have',
      async () => {
        const wanted = await memberVersions(plane.members);
        const listed = await ask(gateway!, carol.token, 'GET', `${proxy}${collection}`);
        const { items } = JSON.parse(listed.body.toString('utf8')) as {
          readonly items: readonly { readonly metadata: { readonly uid: string; readonly resourceVersion: string } }[];
        };
        const rows = items.map(({ metadata }) => [metadata.uid, BigInt(metadata.resourceVersion)] as const);
        assert.equal(new Set(rows.map(([uid]) => uid)).size, rows.length, 'no row twice');
        assert.deepEqual(new Map(rows.toSorted()), wanted, 'rows');
        for (const watcher of watchers) {
          const own = plane.members.filter(({ name }) => name === watcher.name);
          const expected = own.length === 0 ? wanted : await memberVersions(own);
          assert.deepEqual(new Map([...watcher.versions()].toSorted()), expected, watcher.name);
        }
        return true;
      },
      { timeoutMs: 60_000, everyMs: 500 },
    );
    for (const { name, faults: reported, counts } of watchers) {
      assert.deepEqual(reported, [], name);
      assert.ok(counts.events > 0 && counts.watches > 2, `${name}: ${JSON.stringify(counts)}`);
    }
    const counted = watchers.map(({ name, counts }) => `${name} ${JSON.stringify(counts)}`).join(', ');
    console.log(`changes ${changesTold(churned)}; ${counted}`);
  } finally {
    over.abort();
    await Promise.all(watchers.map((watcher) => watcher.close()));
    line.close();
  }
});
