import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';

import { typeKey } from '../../query/types.ts';
import { checkAgainstModel } from '../conformance/answers.fixture.ts';
import { randomQuestions, randomRows, types } from '../conformance/random.fixture.ts';
import { indexFiles } from './write/file.ts';
import { schemaVersion } from './tables/schema.ts';
import { openSqliteStore } from './store.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

/** What takes a file back to the version before: element `i` leads from version `i + 2` to `i + 1`. */
const back = [
  `DELETE FROM meta WHERE key = 'store'`,
  `DELETE FROM meta WHERE key IN ('rights', 'types')`,
  'ALTER TABLE follow DROP COLUMN resume',
];
const { rows, batches } = randomRows(7);
const keys = types.map(typeKey);

describe('a file of an older version with rows, changes and deletions in it', () => {
  const directory = tempDir('older');
  const present = join(directory, 'present');
  let start: string;
  before(async () => {
    const store = await openSqliteStore({ directory: present });
    start = store.resourceVersion();
    for (const batch of batches) await store.apply(batch);
    await store.close();
  });

  test('has a way back for each version', () => assert.equal(back.length, schemaVersion - 1));

  for (let version = 1; version < schemaVersion; version++) {
    test(`is migrated from version ${version}: it answers, watches go on, it is written`, async () => {
      const older = join(directory, String(version));
      cpSync(present, older, { recursive: true });
      const db = new DatabaseSync(indexFiles(older).file);
      for (const statement of back.slice(version - 1).toReversed()) db.exec(statement);
      db.exec(`PRAGMA user_version = ${version}`);
      db.close();
      const store = await openSqliteStore({ directory: older, onDamage: assert.fail });
      try {
        await checkAgainstModel(store, rows, randomQuestions(1, 8));
        // The first version had no id, so nobody can go on from a resourceVersion that it gave out.
        assert.equal(await store.isInLog(start), version > 1);
        if (version > 1) assert.ok((await store.changes(start, keys, 100_000)).length > 300);
        for (const { incarnation, type } of batches) await store.forget(incarnation.id, type);
        await checkAgainstModel(store, [], randomQuestions(2, 2));
        for (const batch of batches) await store.apply(batch);
        await checkAgainstModel(store, rows, randomQuestions(3, 8));
      } finally {
        await store.close();
      }
    });
  }
});
