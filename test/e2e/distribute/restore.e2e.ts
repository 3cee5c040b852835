// Hub or cluster are restored from a backup: what was made since stays, and nothing is deleted because of it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { readStore, setStoreBack } from './store-set-back.ts';
import {
  appliedWorkPath,
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  isGone,
  manifestWork,
  put,
  read,
  remove,
  startWorksSite,
  workPath,
  type WorksSite,
} from './works-site.ts';

let site: WorksSite;
let hub: Member;
let m1: Member;
let gateway: GatewayProcess;

before(async () => {
  site = await startWorksSite({ gateway: { env: { PORTCULLIS_TEST_TIME_SCALE: '0.1' } } });
  ({ hub, gateway } = site);
  m1 = site.members[0]!;
});

after(() => site?.stop());

const applied = (name: string): string => appliedWorkPath(`${site.hubHash}-${name}`);

async function make(name: string, objects: readonly string[]): Promise<void> {
  const manifests = objects.map((each) => configMap(each));
  await put(hub, manifestWork(name, manifests));
  await hasCondition(hub, workPath(name), 'Available', 'True');
  await eventually(`the record of ${name}`, async () => {
    const resources = (await read(m1, applied(name)))?.status?.appliedResources ?? [];
    return resources.length === objects.length && resources.every(({ uid }: { uid: string }) => uid !== '');
  });
}

async function deletionsSince(mark: number): Promise<readonly string[]> {
  const events = (await m1.audit(mark)).filter(
    ({ verb, objectRef, user }) =>
      verb === 'delete' && objectRef?.resource === 'configmaps' && user.username === 'portcullis-gateway',
  );
  return events.map(({ objectRef }) => objectRef?.name ?? '');
}

test('a hub that is restored from a backup deletes nothing: neither of works that it knew otherwise, nor of those it does not know', async () => {
  await make('changed', ['c1', 'c2']);
  await make('deleted', ['d1']);
  const backup = await readStore(hub);
  await make('changed', ['c1', 'c3']);
  await isGone(m1, configMapPath('c2'));
  await make('younger', ['y1']);
  await remove(hub, workPath('deleted'));
  await isGone(hub, workPath('deleted'));
  const mark = await m1.auditMark();
  await gateway.stop('SIGKILL');
  await setStoreBack(hub, backup);
  gateway = await site.startGateway();
  await hasCondition(hub, workPath('changed'), 'gateway.portcullis.io/PruneHeld', 'True', 'WorkIsOlder');
  await hasCondition(hub, workPath('deleted'), 'Available', 'True');
  await eventually('the younger record is marked', async () => {
    return (await read(m1, applied('younger'))).status.evictionStartTime !== undefined;
  });
  for (const name of ['c1', 'c2', 'c3', 'd1', 'y1']) assert.ok(await read(m1, configMapPath(name)), name);
  assert.deepEqual(await deletionsSince(mark), []);
});

test('a cluster that is restored from a backup gets what it lacks, and loses nothing', async () => {
  await make('short', ['s1']);
  await make('past', ['p1']);
  await m1.apply(configMap('foreign', { a: 'theirs' }));
  const backup = await readStore(m1);
  await make('short', ['s1', 's2']);
  await make('later', ['l1']);
  await remove(hub, workPath('past'));
  await isGone(hub, workPath('past'));
  await setStoreBack(m1, backup);
  const mark = await m1.auditMark();
  for (const name of ['s2', 'l1'])
    await eventually(`${name} is made again`, async () => await read(m1, configMapPath(name)));
  // What belongs to a work that is not there any more is not deleted before the time of grace is over.
  await eventually('the record is marked', async () => {
    return (await read(m1, applied('past'))).status.evictionStartTime !== undefined;
  });
  for (const name of ['s1', 's2', 'p1', 'l1', 'foreign']) assert.ok(await read(m1, configMapPath(name)), name);
  assert.deepEqual(await deletionsSince(mark), []);
});
