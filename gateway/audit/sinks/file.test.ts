import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { AuditFile } from './file.ts';
import type { AuditFileOptions } from './file.ts';
import type { AuditSink } from './sink.ts';
import { backupName, deleteOldFiles } from './rotation.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

let folder: string;
let path: string;
/** Calls of the sink's events. */
let reported: string[];

beforeEach(() => {
  folder = tempDir('audit');
  path = join(folder, 'logs', 'audit.log');
  reported = [];
});

function start(options: Partial<AuditFileOptions> = {}): AuditSink {
  return new AuditFile({
    path,
    maxSizeBytes: 0,
    maxBackups: 0,
    maxAgeDays: 0,
    retryMs: 20,
    events: {
      failing: (error) => reported.push(`failing ${(error as NodeJS.ErrnoException).code}`),
      recovered: () => reported.push('recovered'),
      lost: (events) => reported.push(`lost ${events}`),
    },
    ...options,
  });
}

/** Every line of the file and its backups, the oldest file first. */
function everyLine(): string[] {
  const names = readdirSync(join(folder, 'logs')).toSorted(
    (a, b) => Number(a === 'audit.log') - Number(b === 'audit.log') || (a < b ? -1 : 1),
  );
  return names.flatMap((name) =>
    readFileSync(join(folder, 'logs', name), 'utf8')
      .split('\n')
      .slice(0, -1),
  );
}

/** Waits until the condition holds; fails the test when it never does. */
async function until(holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 10_000;
  while (!holds()) {
    assert.ok(performance.now() < deadlineMs, 'waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('a file is made for its owner only, and an existing one is continued', async () => {
  const sink = start();
  sink.write('{"a":1}');
  await sink.flush(5000);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder, 'logs')).mode & 0o777, 0o700);
  sink.close();
  const next = start();
  next.write('{"a":2}');
  await next.flush(5000);
  assert.deepEqual(everyLine(), ['{"a":1}', '{"a":2}']);
});

test('a line that a crash cut off does not spoil the next one', async () => {
  mkdirSync(join(folder, 'logs'));
  writeFileSync(path, '{"a":1}\n{"a":');
  const sink = start();
  sink.write('{"a":2}');
  await sink.flush(5000);
  assert.deepEqual(everyLine(), ['{"a":1}', '{"a":', '{"a":2}']);
});

test('a path that cannot be written fails at once', () => {
  writeFileSync(join(folder, 'logs'), 'a file');
  assert.throws(() => start(), /EEXIST|ENOTDIR/);
});

test('rotation under load loses nothing, keeps every file below its size, and no two files take one name', async () => {
  const sink = start({ maxSizeBytes: 1000, nowMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6) });
  const lines = Array.from({ length: 3000 }, (_, i) => JSON.stringify({ i, text: 'ü'.repeat(i % 50) }));
  for (const [i, line] of lines.entries()) {
    sink.write(line);
    if (i % 97 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await sink.flush(30_000);
  assert.deepEqual(everyLine(), lines);
  const names = readdirSync(join(folder, 'logs'));
  assert.ok(names.length > 100);
  assert.ok(names.includes('audit-2026-01-02T03-04-05.006.log'));
  for (const name of names) {
    const { size, mode } = statSync(join(folder, 'logs', name));
    assert.ok(size <= 1000, `${name}: ${size}`);
    assert.equal(mode & 0o777, 0o600);
  }
});

test('an event longer than a file has a file of its own', async () => {
  const sink = start({ maxSizeBytes: 100 });
  const lines = ['a', 'b'.repeat(500), 'c'];
  for (const line of lines) sink.write(line);
  await sink.flush(5000);
  assert.deepEqual(everyLine(), lines);
  assert.equal(readdirSync(join(folder, 'logs')).length, 3);
});

test('old files are deleted by number and by the time in their name, and no other file is', async () => {
  mkdirSync(join(folder, 'logs'));
  const now = Date.UTC(2026, 0, 31);
  const day = 24 * 3600 * 1000;
  const others = [
    'audit.log',
    'audit-notes.log',
    'audit-2026-01-01T00-00-00.000.txt',
    'other-2020-01-01T00-00-00.000.log',
  ];
  for (const name of others) writeFileSync(join(folder, 'logs', name), '');
  const old = [1, 2, 10, 20].map((days) => backupName(path, now - days * day));
  for (const file of old) writeFileSync(file, '');
  const left = (): number[] =>
    old.flatMap((file, i) => (readdirSync(join(folder, 'logs')).some((name) => file.endsWith(name)) ? [i] : []));
  await deleteOldFiles(path, { maxBackups: 0, maxAgeDays: 0 }, now);
  assert.deepEqual(left(), [0, 1, 2, 3]);
  await deleteOldFiles(path, { maxBackups: 0, maxAgeDays: 15 }, now);
  assert.deepEqual(left(), [0, 1, 2]);
  await deleteOldFiles(path, { maxBackups: 1, maxAgeDays: 15 }, now);
  assert.deepEqual(left(), [0]);
  assert.deepEqual(readdirSync(join(folder, 'logs')).filter((name) => others.includes(name)).length, others.length);
});

test('a sink that has too much to write counts as full until it has written it', async () => {
  const sink = start({ maxPendingBytes: 1000 });
  assert.equal(sink.accepting, true);
  for (let i = 0; i < 20; i++) sink.write('x'.repeat(100));
  assert.equal(sink.accepting, false);
  await sink.flush(5000);
  assert.equal(sink.accepting, true);
  assert.equal(everyLine().length, 20);
});

test('a line that comes after the end is written all the same', async () => {
  const sink = start();
  sink.write('1');
  sink.close();
  await sink.flush(5000);
  sink.write('2');
  await until(() => everyLine().length === 2);
});

test('a full disk makes the sink full at once, and with room again every event is there, whole and once (FLT-18)', async (t) => {
  mkdirSync(join(folder, 'logs'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'none', join(folder, 'logs')]);
  if (mounted.status !== 0) {
    t.skip(
      'needs the right to mount a file system; test/e2e/identity/audit-sinks.e2e.ts has the same with a limit of the process',
    );
    return;
  }
  try {
    const filler = join(folder, 'logs', 'filler');
    writeFileSync(filler, Buffer.alloc(8 * 1024));
    const sink = start();
    const lines = Array.from({ length: 100 }, (_, i) => JSON.stringify({ i, text: 'x'.repeat(80) }));
    for (const line of lines) sink.write(line);
    await until(() => reported.length > 0);
    assert.deepEqual(reported, ['failing ENOSPC']);
    assert.equal(sink.accepting, false);
    // Even a full sink takes the event of a change that was let in before.
    sink.write('"late"');
    rmSync(filler);
    await until(() => reported.length > 1);
    assert.deepEqual(reported, ['failing ENOSPC', 'recovered']);
    assert.equal(sink.accepting, true);
    assert.deepEqual(everyLine(), [...lines, '"late"']);
    sink.close();
    await sink.flush(1000);
  } finally {
    spawnSync('umount', ['-l', join(folder, 'logs')]);
  }
});

test('events that a full disk has not taken when the process ends are told as lost (FLT-18)', async () => {
  path = '/dev/full';
  const sink = start({ retryMs: 60_000 });
  sink.write('1');
  await until(() => reported.length > 0);
  sink.write('2');
  sink.close();
  await until(() => reported.length > 1);
  assert.deepEqual(reported, ['failing ENOSPC', 'lost 2']);
});
