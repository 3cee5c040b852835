// A file whose pages are damaged behind a sound head: SQLite opens it, and only a later read fails.
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { rowWrite, typeInfo } from '../conformance/model.fixture.ts';
import { openSqliteStore } from './store.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

test('a store damaged in its middle is set aside and opened empty, whether that shows at once or later (FLT-19)', async (t) => {
  const directory = tempDir('damage');
  const pods = typeInfo('', 'pods');
  const incarnation = { id: 'record/1', cluster: 'one' };
  const upserts = Array.from({ length: 400 }, (_, i) => ({
    ...{ cluster: 'one', incarnation: incarnation.id, type: pods, namespace: 'default', name: `p${i}`, uid: `u${i}` },
    ...{ ownerUid: '', createdAtMs: 0, resourceVersion: String(i + 1), labels: {}, rest: { text: 'x'.repeat(500) } },
  })).map(rowWrite);
  const position = { resourceVersion: '9', confirmedAtMs: 1 };
  const first = await openSqliteStore({ directory, onDamage: assert.fail });
  await first.apply({ incarnation, type: pods, upserts, deletes: [], position });
  await first.close();
  for (const part of [0.02, 0.25, 0.6]) {
    const handle = openSync(join(directory, 'index.db'), 'r+');
    const { size } = fstatSync(handle);
    writeSync(handle, Buffer.alloc(Math.floor(size / 3), 'damage '), 0, undefined, 4096 + Math.floor(size * part));
    closeSync(handle);
    let broken = 0;
    const reported: string[] = [];
    const open = () =>
      openSqliteStore({ directory, onDamage: (message) => reported.push(message), onBroken: () => (broken += 1) });
    let store = await open();
    t.after(() => store.close().catch(() => undefined));
    const write = () => store.apply({ incarnation, type: pods, upserts, deletes: [], position });
    const rewritten = await write().catch((error: unknown) => error);
    if (rewritten instanceof Error) {
      assert.ok(broken > 0, `${rewritten.message} and nobody was told to open it again`);
      await store.close();
      store = await open();
      assert.deepEqual(await store.types(), []);
      await write();
    }
    assert.ok(
      reported.some((message) => /set aside as .*\.aside and is built anew/.test(message)),
      reported.join('\n'),
    );
    assert.equal((await store.types())[0]?.objects, 400);
    await store.close();
  }
});
