import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

import { cpuSecondsBetween, peakBytes, processTree, readCpu, residentBytes, resetPeak } from './accounting.ts';

const linux = process.platform === 'linux';

test('CPU time of this process matches what the runtime says about itself', { skip: !linux }, () => {
  const before = readCpu(process.pid);
  const own = process.cpuUsage();
  const until = performance.now() + 60;
  let x = 0;
  while (performance.now() < until) x += Math.sqrt(x + 1);
  const spent = process.cpuUsage(own);
  const measured = cpuSecondsBetween(before, readCpu(process.pid));
  const expected = (spent.user + spent.system) / 1e6;
  assert.ok(x > 0);
  assert.ok(Math.abs(measured - expected) < 0.02 + expected * 0.1, `measured ${measured} s, runtime ${expected} s`);
});

test('a process tree holds grandchildren, and their CPU time counts', { skip: !linux }, async () => {
  const script = `const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', 'process.stdout.write("up"); setInterval(() => {}, 1000)'], { stdio: ['ignore', 'inherit', 'inherit'] });
    process.on('SIGTERM', () => { child.kill('SIGKILL'); process.exit(0); });`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(child.stdout, 'data');
    const tree = processTree(child.pid ?? 0);
    assert.equal(tree.length, 2);
    assert.equal(tree[0], child.pid);
    const single = readCpu(tree[1] ?? 0).processSeconds;
    const all = readCpu(child.pid ?? 0).processSeconds;
    assert.ok(all > single);
    assert.ok(residentBytes(child.pid ?? 0) > residentBytes(tree[1] ?? 0));
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
});

test('a process that does not exist costs nothing', () => {
  assert.deepEqual(processTree(2 ** 22 + 1), []);
});

test('the peak falls back to the present after a reset', { skip: !linux }, async () => {
  const script = `let block = Buffer.alloc(80e6, 1); block = null; gc(); process.stdout.write('up'); setInterval(() => {}, 1000)`;
  const child = spawn(process.execPath, ['--expose-gc', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(child.stdout, 'data');
    const pid = child.pid ?? 0;
    const peak = peakBytes(pid);
    assert.ok(peak - residentBytes(pid) > 60e6, 'the block was counted in the peak and is gone now');
    resetPeak(pid);
    assert.ok(peak - peakBytes(pid) > 60e6);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

test('time of threads that ended is taken from the process when schedstat lost it', () => {
  const before = {
    threads: new Map([
      ['1/1', 1e9],
      ['1/2', 1e9],
    ]),
    processSeconds: 2,
  };
  const after = { threads: new Map([['1/1', 1.5e9]]), processSeconds: 4 };
  assert.equal(cpuSecondsBetween(before, after), 2);
  const alive = {
    threads: new Map([
      ['1/1', 1.5e9],
      ['1/2', 1.004e9],
    ]),
    processSeconds: 2.5,
  };
  assert.ok(Math.abs(cpuSecondsBetween(before, alive) - 0.504) < 1e-9);
});
