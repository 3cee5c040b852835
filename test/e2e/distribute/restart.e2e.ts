// An executor that is killed in the middle of its work, again and again: the next one finishes it, nothing is there
// twice, and nothing is touched that is not the works' own. PORTCULLIS_WORKS_KILLS says how often (10),
// PORTCULLIS_WORKS_SEED gives another sequence of changes and moments.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { WorksLife } from './works-life.ts';
import {
  conditionIn,
  configMap,
  configMapPath,
  eventually,
  manifestWork,
  put,
  read,
  remove,
  startWorksSite,
  workPath,
  type Json,
  type WorksSite,
} from './works-site.ts';

const kills = Number(process.env['PORTCULLIS_WORKS_KILLS'] ?? 10);
const seed = process.env['PORTCULLIS_WORKS_SEED'] ?? '1';
/** The changes of a round take about so long; the executor is killed at a random moment of it. */
const roundMs = 1_200;
const works = '/apis/work.open-cluster-management.io/v1/namespaces/m1/manifestworks';
const records = '/apis/work.open-cluster-management.io/v1/appliedmanifestworks';
let site: WorksSite;
let hub: Member;
let m1: Member;
let last: GatewayProcess;

before(async () => {
  // A Lease lasts two seconds.
  site = await startWorksSite({ gateway: { env: { PORTCULLIS_TEST_TIME_SCALE: '0.1' } } });
  ({ hub } = site);
  m1 = site.members[0]!;
  last = site.gateway;
  // Beside the works' own objects there are others, of which one has the name of a work's.
  await m1.apply(configMap('foreign', { a: 'theirs' }), configMap('w0', { a: 'theirs' }));
});

after(() => site?.stop());

/** The objects of works in the cluster, as the model has them. */
async function objectsNow(): Promise<Json> {
  const { items } = await read(m1, '/api/v1/namespaces/ns1/configmaps');
  const own = items.filter((each: Json) => /^w\d+-/.test(each.metadata.name));
  return own.map(({ metadata, data }: Json) => {
    const owners = (metadata.ownerReferences ?? []).map(({ name }: Json) => name.replace(`${site.hubHash}-`, ''));
    return `${metadata.name} round ${data.round} owned by ${owners.join(' and ') || 'nobody'}`;
  });
}

/** What is recorded in the cluster as applied, with UIDs where they are those of the live objects. */
async function recordsNow(): Promise<Json> {
  const [{ items }, { items: live }] = await Promise.all([
    read(m1, records),
    read(m1, '/api/v1/namespaces/ns1/configmaps'),
  ]);
  const uids = new Map(live.map(({ metadata }: Json) => [metadata.name, metadata.uid]));
  return items.map(({ spec, status }: Json) => {
    const resources = (status?.appliedResources ?? []).map(({ name, uid }: Json) =>
      uids.get(name) === uid ? name : `${name} with UID ${uid}`,
    );
    return `${spec.manifestWorkName}: ${resources.toSorted().join(' ')}`;
  });
}

async function worksNow(): Promise<Json> {
  const { items } = await read(hub, works);
  return items.map(({ metadata, status }: Json) => {
    const isTrue = (type: string): boolean => {
      const found = conditionIn(status, type);
      return found?.status === 'True' && found.observedGeneration === metadata.generation;
    };
    return `${metadata.name}: ${['Applied', 'Available'].filter(isTrue).join(' ')}`;
  });
}

/** Waits until hub and cluster are as the model says. */
async function converges(life: WorksLife, reported: string): Promise<void> {
  const expected = {
    works: [...life.works.keys()].map((name) => `${name}: Applied Available`).toSorted(),
    records: [...life.works].map(([name, { objects }]) => `${name}: ${objects.toSorted().join(' ')}`).toSorted(),
    objects: [...life.objects]
      .map(([name, { owner, round }]) => `${name} round ${round} owned by ${owner ?? 'nobody'}`)
      .toSorted(),
  };
  let now: Json;
  await eventually('it converges', async () => {
    const [found, recorded, objects] = await Promise.all([worksNow(), recordsNow(), objectsNow()]);
    now = { works: found.toSorted(), records: recorded.toSorted(), objects: objects.toSorted() };
    return JSON.stringify(now) === JSON.stringify(expected);
  }).catch((error: unknown) => assert.deepEqual(now, expected, `${String(error)}, ${reported}`));
}

test('however often the executor is killed, the next one finishes what the works ask for, and touches nothing else', async (t) => {
  const life = new WorksLife(seed, 5);
  const foreign = await Promise.all(['foreign', 'w0'].map((name) => read(m1, configMapPath(name))));
  const done: string[] = [];
  for (let round = 1; round <= kills; round += 1) {
    const changes = life.round(round);
    const reported = changes.map(({ work, does }) => `${does} ${work}`).join(', ');
    const change = async (): Promise<void> => {
      for (const { work, manifest } of changes) {
        if (manifest === undefined) await remove(hub, workPath(work));
        else await put(hub, manifest);
        await delay(life.random() * (roundMs / changes.length));
      }
    };
    const changing = change();
    await delay(life.random() * roundMs);
    await last.stop('SIGKILL');
    last = await site.startGateway();
    await changing;
    await converges(life, `round ${round} of seed ${seed}: ${reported}`);
    done.push(...changes.map(({ does }) => does));
  }
  for (const [index, name] of ['foreign', 'w0'].entries())
    assert.deepEqual(await read(m1, configMapPath(name)), foreign[index], 'foreign objects are as they were');
  const deleted = (await m1.audit()).filter(
    ({ verb, objectRef, user }) =>
      verb === 'delete' && objectRef?.resource === 'configmaps' && user.username === 'portcullis-gateway',
  );
  const names = new Set(deleted.map(({ objectRef }) => objectRef?.name ?? ''));
  assert.deepEqual(
    [...names].filter((name) => !life.mayGo.has(name)),
    [],
    'nothing was deleted but objects that left their works',
  );
  assert.ok(life.mayGo.size > 0 && names.size > 0);
  const counts = Object.entries(Object.groupBy(done, (each) => each)).map(([does, list]) => `${list?.length} ${does}`);
  t.diagnostic(`${kills} kills during ${done.length} changes: ${counts.join(', ')}`);
});

test('the metrics of the executor count works by state, and measure how soon changes are applied', async () => {
  const text = async (): Promise<string> => await (await fetch(`${last.opsUrl}/metrics`)).text();
  const applied = async (): Promise<number> =>
    Number(/^portcullis_work_apply_seconds_count (\d+)/m.exec(await text())?.[1] ?? 0);
  const before = await applied();
  await put(hub, manifestWork('measured', [configMap('measured')]));
  await eventually('it is measured', async () => (await applied()) > before);
  const { items } = await read(hub, works);
  assert.match(await text(), new RegExp(`portcullis_works\\{state="applied"\\} ${items.length}`));
  assert.match(await text(), /portcullis_work_queue_seconds\{cluster="m1"\} /);
  assert.match(await text(), /portcullis_work_reconciles_total [1-9]/);
});
