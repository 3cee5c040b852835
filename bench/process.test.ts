import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startProcess, type LiveProcesses } from './process.ts';

const node = (script: string) => ({ name: 'child', command: process.execPath, args: ['-e', script] });

test('a process is known while it runs and forgotten when it was stopped', async () => {
  const live: LiveProcesses = new Set();
  const script = 'console.log("ready"); console.error("noise"); setInterval(() => {}, 1000)';
  const child = await startProcess({ ...node(script), firstLine: true }, live);
  assert.equal(child.firstLine, 'ready');
  assert.deepEqual([...live], [child]);
  await child.stop();
  assert.equal(child.running(), false);
  assert.equal(live.size, 0);
  await child.stop();
});

test('a process that ends before its first line says why', async () => {
  const live: LiveProcesses = new Set();
  const started = startProcess({ ...node('console.error("no port left"); process.exit(3)'), firstLine: true }, live);
  await assert.rejects(started, /child did not start: no port left/);
});

test('a program that does not exist is an error that names it', async () => {
  await assert.rejects(
    startProcess({ name: 'ghost', command: '/nowhere/ghost', args: [] }, new Set()),
    /ghost did not start: .*ENOENT/,
  );
});

test('killNow ends even what ignores SIGTERM', async () => {
  const live: LiveProcesses = new Set();
  const script = 'process.on("SIGTERM", () => {}); console.log("deaf"); setInterval(() => {}, 1000)';
  const child = await startProcess({ ...node(script), firstLine: true }, live);
  child.killNow();
  await child.stop();
  assert.equal(child.running(), false);
});
