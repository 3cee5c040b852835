import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from './controlplane/processes.ts';
import { takeMachineLock } from './machine-lock.ts';

test('a second run waits until the first has ended', async () => {
  const port = await freePort();
  const first = await takeMachineLock(port);
  let waits = 0;
  const second = await takeMachineLock(port, async () => {
    waits += 1;
    if (waits === 2) first.close();
  });
  second.close();
  assert.ok(waits >= 2, `it waited ${waits} times`);
});
