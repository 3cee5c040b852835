// An executor that is killed in the middle of its work: another one finishes it, nothing is there twice, and nothing
// that is not the works' own is touched.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
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

const works = '/apis/work.open-cluster-management.io/v1/namespaces/m1/manifestworks';
let site: WorksSite;
let hub: Member;
let m1: Member;
let last: GatewayProcess;

before(async () => {
  site = await startWorksSite();
  ({ hub } = site);
  m1 = site.members[0]!;
  last = site.gateway;
  await m1.apply(configMap('foreign', { a: 'theirs' }));
});

after(() => site?.stop());

const rounds = 2;
const count = 12;
const manifests = (work: number, round: number): object[] => [
  configMap(`w${work}-a`, { round: String(round) }),
  configMap(`w${work}-b`, { round: String(round) }),
  // One object comes and one goes with each round.
  configMap(`w${work}-r${round}`),
];

test('works are finished by the next executor, however often the one before is killed', async () => {
  const { metadata } = await read(m1, configMapPath('foreign'));
  for (let round = 1; round <= rounds; round += 1) {
    for (let work = 0; work < count; work += 1) await put(hub, manifestWork(`w${work}`, manifests(work, round)));
    const begun = async (): Promise<boolean> => (await read(m1, configMapPath('w0-a')))?.data.round === String(round);
    await eventually('the round has begun', begun);
    // Wherever that is in its work: another place in each run.
    await delay(Math.random() * 300);
    await last.stop('SIGKILL');
    last = await site.startGateway();
  }
  const done = await eventually('all works are applied', async () => {
    const { items } = await read(hub, works);
    const isDone = (work: Json): boolean => {
      const found = conditionIn(work.status, 'Available');
      return found?.status === 'True' && found.observedGeneration === work.metadata.generation;
    };
    return items.length === count && items.every(isDone) ? items : undefined;
  });
  for (const { metadata: named } of done) {
    const record = await eventually('the record has the present objects', async () => {
      const found = await read(
        m1,
        `/apis/work.open-cluster-management.io/v1/appliedmanifestworks/${site.hubHash}-${named.name}`,
      );
      return found.status.appliedResources.length === 3 ? found : undefined;
    });
    for (const { name, uid } of record.status.appliedResources) {
      const object = await read(m1, configMapPath(name));
      assert.equal(object.metadata.uid, uid);
      assert.deepEqual(
        object.metadata.ownerReferences.map((owner: Json) => owner.uid),
        [record.metadata.uid],
      );
    }
  }
  const { items } = await read(m1, '/api/v1/namespaces/ns1/configmaps');
  const left = items.map((each: Json) => each.metadata.name).filter((name: string) => /^w\d+-/.test(name));
  assert.equal(left.length, count * 3, 'objects of earlier rounds are gone');
  assert.deepEqual((await read(m1, configMapPath('foreign'))).metadata, metadata);
  const deleted = (await m1.audit()).filter(
    ({ verb, userAgent, objectRef }) =>
      verb === 'delete' && userAgent === 'portcullis-works' && !/^w\d+-r1$/.test(objectRef?.name ?? ''),
  );
  assert.deepEqual(deleted, [], 'nothing was deleted but objects of earlier rounds');
});

test('the metrics of the executor count works by state', async () => {
  const text = await (await fetch(`${last.opsUrl}/metrics`)).text();
  assert.match(text, new RegExp(`portcullis_works\\{state="applied"\\} ${count}`));
  assert.match(text, /portcullis_work_queue_seconds\{cluster="m1"\} /);
  assert.match(text, /portcullis_work_looks_total [1-9]/);
});
