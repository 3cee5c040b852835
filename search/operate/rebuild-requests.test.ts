import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../test/site/polling.ts';
import { followRequests, requestsInFolder } from './rebuild-requests.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

function folder(): string {
  return join(tempDir('rebuild'), 'rebuild');
}

test('a request stays until it is done, also for another process, whatever the UID is made of', async () => {
  const place = folder();
  const uids = ['a', '../b/c', 'ü 1'];
  assert.deepEqual(await requestsInFolder(place).pending(), []);
  await requestsInFolder(place).add(uids);
  await requestsInFolder(place).add(['a']);
  assert.deepEqual((await requestsInFolder(place).pending()).toSorted(), uids.toSorted());
  await requestsInFolder(place).done('../b/c');
  await requestsInFolder(place).done('not there');
  assert.deepEqual((await requestsInFolder(place).pending()).toSorted(), ['a', 'ü 1']);
});

test('only who follows a cluster drops it, and tries again when that fails', async (t) => {
  const requests = requestsInFolder(folder());
  const tries: string[] = [];
  const errors: unknown[] = [];
  const rebuild = async (uid: string): Promise<boolean> => {
    tries.push(uid);
    if (uid === 'mine' && tries.filter((each) => each === 'mine').length === 1) throw new Error('the store is away');
    return uid === 'mine';
  };
  const end = followRequests(requests, { rebuild }, (error) => errors.push(error));
  t.after(end);
  await requests.add(['mine', 'of another']);
  await eventually('mine is done', async () => (await requests.pending()).join() === 'of another');
  assert.equal(errors.length, 1);
  await end();
  assert.deepEqual(await requests.pending(), ['of another']);
});
