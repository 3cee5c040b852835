import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';

import { configMaps, Life } from '../conformance/lives.fixture.ts';
import { isIndexFull } from '../index-full.ts';
import type { Commit, WriteBatch } from '../store.ts';
import { openIndexFile } from './write/file.ts';
import { openReader } from './read/reader.ts';
import { packBatch } from './tables/messages.ts';
import { defaultLogLimits } from './write/change-log.ts';
import { Writer, type WriterOptions } from './write/writer.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

describe('a store with small limits', () => {
  const root = tempDir('limits');
  let lives = 0;
  const closers: (() => void)[] = [];
  let life: Life;
  beforeEach(() => {
    life = new Life(++lives);
  });
  after(() => {
    for (const close of closers) close();
  });

  /** Without threads. */
  function openDirectly(options: Partial<WriterOptions>) {
    const nowUs = (): number => Date.now() * 1000;
    const directory = join(root, String(lives));
    const index = openIndexFile({ directory, pathsDigest: '', cacheBytes: 1 << 20, nowUs, onSetAside: assert.fail });
    const onStopped = (): void => undefined;
    const writer = new Writer(index.db, index.file, {
      log: defaultLogLimits,
      maxBytes: undefined,
      nowUs,
      onStopped,
      onTrouble: assert.fail,
      ...options,
    });
    const reader = openReader(index.file, 1 << 20);
    closers.push(reader.close, index.close);
    const apply = (change: WriteBatch): Commit => {
      const [result] = writer.apply([packBatch(change)]);
      if ('error' in result!) throw result.error;
      return result!.commit;
    };
    return { writer, reader, apply };
  }

  test('a log that was trimmed says from where it still goes on, and older questions are expired', () => {
    const { writer, reader, apply } = openDirectly({ log: { ...defaultLogLimits, entries: 100 } });
    const start = writer.sequence;
    assert.equal(reader.operations.oldest(), start);
    for (let version = 1; version <= 12; version++) {
      apply(life.batch(Array.from({ length: 100 }, (_, i) => life.row(`pod-${i}`, version))));
    }
    const oldest = reader.operations.oldest();
    assert.ok(oldest > start);
    const { entries } = reader.operations.changes({ sinceUs: oldest, types: ['pods.'], limit: 5000 });
    assert.ok(entries.length >= 100 && entries.length <= 700);
    const { before, after: then } = entries.at(-1)!;
    assert.deepEqual([versionOf(before!), versionOf(then!)], [11, 12]);
    assert.throws(() => reader.operations.changes({ sinceUs: start, types: ['pods.'], limit: 1 }), { code: 'EXPIRED' });
  });

  test('bodies kept for the log are bounded, whatever their number', () => {
    const { reader, apply } = openDirectly({ log: { ...defaultLogLimits, bytes: 100_000 } });
    const large = { data: 'x'.repeat(10_000) };
    for (let version = 1; version <= 30; version++)
      apply(life.batch([life.row('pod', version, { rest: { version, ...large } })]));
    const sinceUs = reader.operations.oldest();
    const { entries } = reader.operations.changes({ sinceUs, types: ['pods.'], limit: 100 });
    assert.ok(entries.length >= 8 && entries.length <= 11, `${entries.length}`);
  });

  test('an object that SQLite refuses is left out, and all others of its batch are written', () => {
    const { apply } = openDirectly({});
    apply(life.batch([life.row('bad', 1)]));
    const position = { resourceVersion: '9', confirmedAtMs: 1 };
    const batch = life.batch([life.row('a', 1), life.row('bad', 2), life.row('b', 1), life.row('c', 1)], { position });
    const upserts = batch.upserts.map((row) => (row.name === 'bad' ? { ...row, createdAtMs: Number.NaN } : row));
    const made = apply({ ...batch, upserts });
    assert.deepEqual([made.written, made.deleted], [3, 1]);
    assert.deepEqual(
      made.leftOut?.map(({ name }) => name),
      ['bad'],
    );
    assert.equal(apply(life.batch([life.row('bad', 3), life.row('a', 1)])).written, 1);
  });

  test('an object of one namespace more than there is room for is left out, and all others are written', () => {
    const { apply } = openDirectly({ slots: 3 });
    const row = (namespace: string) => life.row('pod', 1, { namespace });
    const made = apply(life.batch(['a', 'b', 'c', 'd'].map(row)));
    assert.deepEqual([made.written, made.leftOut?.map(({ namespace }) => namespace)], [3, ['d']]);
    assert.equal(apply(life.batch([row('e'), life.row('other', 1, { namespace: 'a' })])).written, 1);
  });

  test('a full index refuses its largest type by a reason of its own, and takes deletions', () => {
    const stopped: (readonly string[])[] = [];
    // Bodies of deleted objects go to the log, which takes room too.
    const { apply } = openDirectly({
      log: { ...defaultLogLimits, bytes: 10_000 },
      maxBytes: 2 << 20,
      onStopped: (types) => stopped.push(types),
    });
    const large = { rest: { version: 1, data: 'x'.repeat(10_000) } };
    let stored = 0;
    assert.throws(() => {
      for (; ; stored++) apply(life.batch([life.row(`pod-${stored}`, 1, large)]));
    }, isIndexFull);
    assert.ok(stored > 50);
    assert.deepEqual(stopped, [['pods.']]);
    apply(life.batch([life.row('settings', 1, { type: configMaps })], { type: configMaps }));
    const deletes = Array.from({ length: stored }, (_, i) => ({ namespace: 'default', name: `pod-${i}` }));
    assert.equal(apply(life.batch([], { deletes })).deleted, stored);
    assert.deepEqual(stopped.at(-1), []);
    assert.equal(apply(life.batch([life.row('pod', 1)])).written, 1);
  });
});

function versionOf(body: Uint8Array): number {
  return (JSON.parse(Buffer.from(body).toString()) as { version: number }).version;
}
