import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from './within.ts';

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

test('no timer is left behind when the promise resolves, rejects or is late', async () => {
  const before = timers();
  assert.equal(await within(60_000, Promise.resolve()), true);
  await assert.rejects(within(60_000, Promise.reject(new Error('broken'))), /broken/);
  assert.equal(await within(0, new Promise(() => undefined)), false);
  assert.equal(timers(), before);
});
