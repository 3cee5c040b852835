// What was applied for works that are missing on the hub: it is kept for a while, for the case that they come back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import {
  appliedWorkPath,
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  isGone,
  manifestWork,
  patch,
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
  site = await startWorksSite({ gateway: { args: ['--works-eviction-grace', '1h'] } });
  ({ hub, gateway } = site);
  m1 = site.members[0]!;
});

after(() => site?.stop());

const applied = (name: string): string => appliedWorkPath(`${site.hubHash}-${name}`);
const isMarked = async (path: string): Promise<boolean> =>
  (await read(m1, path)).status?.evictionStartTime !== undefined;

async function make(name: string): Promise<void> {
  await put(hub, manifestWork(name, [configMap(name)]));
  await hasCondition(hub, workPath(name), 'Available', 'True');
}

async function restartWith(grace: string): Promise<void> {
  gateway = await site.startGateway({ args: ['--works-eviction-grace', grace] });
}

/** The hub forgets the work although nobody deletes what was applied, as a restored hub does. */
async function forget(name: string): Promise<void> {
  await patch(hub, workPath(name), { metadata: { finalizers: null } });
  await remove(hub, workPath(name));
  await isGone(hub, workPath(name));
}

test('a record whose work comes back in time is kept, and so are its objects', async () => {
  await make('back');
  const { metadata } = await read(m1, configMapPath('back'));
  await gateway.stop('SIGKILL');
  await forget('back');
  await restartWith('1h');
  await eventually('it is marked', () => isMarked(applied('back')));
  assert.equal((await read(m1, configMapPath('back'))).metadata.uid, metadata.uid);
  await make('back');
  await eventually('the mark is gone', async () => !(await isMarked(applied('back'))));
  const back = await read(m1, configMapPath('back'));
  assert.equal(back.metadata.uid, metadata.uid);
  assert.deepEqual(
    back.metadata.ownerReferences.map(({ name }: { name: string }) => name),
    [`${site.hubHash}-back`],
  );
});

test('with a grace of a hundred years nothing is ever marked, and with a short one it goes, while those of others stay', async () => {
  await make('old');
  await gateway.stop('SIGKILL');
  await forget('old');
  const foreign = appliedWorkPath('0123-foreign');
  await m1.apply({
    apiVersion: 'work.open-cluster-management.io/v1',
    kind: 'AppliedManifestWork',
    metadata: { name: '0123-foreign' },
    spec: { hubHash: '0123', agentID: 'another-agent', manifestWorkName: 'foreign' },
  });
  for (const path of [applied('old'), foreign])
    await patch(m1, `${path}/status`, { status: { evictionStartTime: '2020-01-01T00:00:00Z' } });
  await restartWith('876000h');
  // The old mark is taken away at the first look, which shows that there was one.
  await eventually('the mark is gone', async () => !(await isMarked(applied('old'))));
  assert.ok(await read(m1, configMapPath('old')));
  assert.ok(await isMarked(foreign));
  await gateway.stop('SIGTERM');
  await restartWith('2s');
  await isGone(m1, applied('old'));
  assert.equal(await read(m1, configMapPath('old')), undefined);
  assert.ok(await read(m1, foreign));
});
