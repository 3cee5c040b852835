// A cluster that hangs, one that comes and goes, and one that is slow: each costs only its own works. What happened
// first decides, no clock.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import { startLine } from '../../site/line.fixture.ts';
import type { Line } from '../../site/line.fixture.ts';
import type { Simulator } from '../../../sim/server.ts';
import { registerSimulated, startSimulatedClusters } from './simulated-clusters.ts';
import {
  conditionIn,
  configMap,
  configMapPath,
  eventually,
  manifestWork,
  put,
  read,
  startWorksSite,
  type Json,
  type WorksSite,
} from './works-site.ts';

let site: WorksSite;
let hub: Member;

before(async () => {
  site = await startWorksSite({ members: ['m1', 'm2', 'm3'] });
  ({ hub } = site);
});

after(() => site?.stop());

/** Makes works `<prefix>-0` and so on in the cluster, each with this many ConfigMaps. */
async function makeWorks(cluster: string, prefix: string, count: number, objects: number): Promise<void> {
  for (let work = 0; work < count; work += 1) {
    const name = `${prefix}-${work}`;
    const manifests = Array.from({ length: objects }, (_, index) => configMap(`${name}-${index}`, { work: name }));
    await put(hub, manifestWork(name, manifests, {}, { namespace: cluster }));
  }
}

/** How many works of the cluster are applied at their present generation. */
async function appliedIn(cluster: string): Promise<number> {
  const { items } = await read(hub, `/apis/work.open-cluster-management.io/v1/namespaces/${cluster}/manifestworks`);
  return items.filter((work: Json) => {
    const applied = conditionIn(work.status, 'Applied');
    return applied?.status === 'True' && applied.observedGeneration === work.metadata.generation;
  }).length;
}

async function areApplied(cluster: string, count: number): Promise<void> {
  await eventually(`${count} works of ${cluster} are applied`, async () => (await appliedIn(cluster)) === count);
}

describe('works of one cluster do not wait for another cluster', () => {
  const count = 15;

  test('that hangs in the middle of its works, nor for one that comes and goes', async (t) => {
    const [m1, m2, m3] = site.members as [Member, Member, Member];
    t.after(() => m1.resumeProcess());
    // All are connected, and the first one hangs with open connections, as a machine that has lost its network.
    for (const { name } of site.members) await makeWorks(name, 'first', 1, 2);
    for (const { name } of site.members) await areApplied(name, 1);
    m1.pauseProcess();
    const over = new AbortController();
    const flaps = (async (): Promise<number> => {
      let times = 0;
      for (; !over.signal.aborted; times += 1) {
        await m2.kill();
        await m2.restart();
      }
      return times;
    })();
    try {
      for (const { name } of site.members) await makeWorks(name, 'work', count, 4);
      await areApplied('m3', count + 1);
      assert.ok((await read(m3, configMapPath(`work-${count - 1}-3`))) !== undefined);
      assert.equal(await appliedIn('m1'), 1, 'the one that hangs has not got any further');
    } finally {
      over.abort();
    }
    assert.ok((await flaps) > 0);
    m1.resumeProcess();
    for (const member of [m1, m2]) {
      await areApplied(member.name, count + 1);
      assert.ok((await read(member, configMapPath(`work-${count - 1}-3`))) !== undefined, member.name);
    }
  });
});

describe('works of twenty clusters with 200 objects each, one of which answers each request 5 s late', () => {
  const clusters = 20;
  const [count, objects] = [10, 20];
  let simulators: readonly Simulator[] = [];
  let line: Line | undefined;

  after(async () => {
    line?.close();
    for (const simulator of simulators) await simulator.close();
  });

  test('are applied in all others while the slow one is under way, and then in the slow one too', async () => {
    simulators = await startSimulatedClusters(clusters, { controllers: false });
    const [slow, ...others] = simulators as [Simulator, ...Simulator[]];
    line = await startLine(slow.port);
    const { name, caPem, adminToken } = slow;
    await registerSimulated(hub, [{ name, caPem, adminToken, url: `https://127.0.0.1:${line.port}` }, ...others]);
    // Once it is reached, it becomes slow.
    for (const each of simulators) await makeWorks(each.name, 'first', 1, 1);
    for (const each of simulators) await areApplied(each.name, 1);
    line.slow(5_000);

    for (const each of simulators) await makeWorks(each.name, 'work', count, objects);
    const objectsIn = ({ store }: Simulator): number => {
      const made = store.list('ConfigMap', 'ns1') as unknown as readonly { readonly metadata: { name: string } }[];
      return made.filter((each) => each.metadata.name.startsWith('work-')).length;
    };
    for (const each of others) await areApplied(each.name, count + 1);
    assert.deepEqual(
      others.map(objectsIn),
      Array.from({ length: clusters - 1 }, () => count * objects),
    );
    assert.ok((await appliedIn(name)) < count + 1, 'the slow one is still under way');

    line.slow(0);
    await areApplied(name, count + 1);
    assert.equal(objectsIn(slow), count * objects);
  });
});
