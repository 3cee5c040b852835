// Tables of every older version, with rows, changes and deletions in them, are migrated: the index answers as before,
// watches go on, and it can be written.
// Landing tier: an index in PostgreSQL that an older release wrote is kept.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Client } from 'pg';

import { migrations, schemaForm } from '../../../../store/postgres/connection/schema.ts';
import { shardOfIncarnation } from '../../../../store/postgres/connection/shard.ts';
import { openPostgresStore, type PostgresStore } from '../../../../store/postgres/store.ts';
import type { LogEntry, WriteBatch } from '../../../../store/store.ts';
import { typeKey } from '../../../../query/types.ts';
import { copyAsOlder, olderSchema } from '../../../site/older-tables.fixture.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { askedArbitrary, hostileBatches } from '../hostile-questions.ts';
import { countAnswers, listAnswer } from '../store-answers.ts';

const questions = fc.sample(askedArbitrary, { numRuns: 60, seed: 3 });
const first = hostileBatches(1);
const later = hostileBatches(2);
const types = [...new Set(first.map(({ type }) => typeKey(type)))];

describe('tables of an older version', needsPostgres, () => {
  let server: PostgresServer;
  let url: string;
  let client: Client;
  /** What the index answered before it was copied, after more was written, and the changes of the first part. */
  let answersBefore: readonly string[];
  let answersAfter: readonly string[];
  let log: readonly LogEntry[];
  let start: string;

  before(async () => {
    server = await startPostgresServer();
    url = await server.createDatabase('migrations');
    const store = await openPostgresStore({ url, connections: 4 });
    client = new Client({ connectionString: url });
    await client.connect();
    start = store.resourceVersion();
    await fill(store, 'portcullis', first);
    answersBefore = await answers(store);
    log = await store.changes(start, types, 100_000);
    assert.ok(log.length > 300);
    for (let form = 1; form < schemaForm; form++) await copyAsOlder(client, form);
    await fill(store, 'portcullis', later);
    answersAfter = await answers(store);
    assert.notDeepEqual(answersAfter, answersBefore);
    await store.close();
  });
  after(async () => {
    await client?.end();
    await server?.stop();
  });

  /** Writes batches as the owner of their clusters' shards. */
  async function fill(store: PostgresStore, schema: string, batches: readonly WriteBatch[]): Promise<void> {
    const epochs = new Map<number, number>();
    for (const batch of batches) {
      const shard = shardOfIncarnation(batch.incarnation.id);
      if (!epochs.has(shard)) {
        const text = `UPDATE ${schema}.shard SET epoch = epoch + 1 WHERE id = $1 RETURNING epoch::int4`;
        epochs.set(shard, (await client.query<{ epoch: number }>(text, [shard])).rows[0]!.epoch);
      }
      await store.apply(batch, { shard, epoch: epochs.get(shard)! });
    }
  }

  async function answers(store: PostgresStore): Promise<readonly string[]> {
    const said: string[] = [];
    for (const asked of questions) {
      said.push((await listAnswer(store, asked, asked.page)).text, ...(await countAnswers(store, asked)));
    }
    const kept = await store.types();
    const versions = await Promise.all(kept.map(({ incarnation, type }) => store.versions(incarnation.id, type)));
    return [...said, ...kept.map((one, i) => JSON.stringify([one, versions[i]])).toSorted()];
  }

  for (let form = 1; form < migrations.length; form++) {
    test(`of version ${form} are migrated with all that is in them`, async () => {
      const store = await openPostgresStore({ url, connections: 4, schema: olderSchema(form) });
      try {
        assert.equal(store.status().form, schemaForm);
        assert.deepEqual(await answers(store), answersBefore);
        assert.deepEqual(await store.changes(start, types, 100_000), log);
        await fill(store, olderSchema(form), later);
        assert.deepEqual(await answers(store), answersAfter);
        const since = await store.changes(log.at(-1)!.resourceVersion, types, 100_000);
        assert.ok(since.length > 300);
      } finally {
        await store.close();
      }
    });
  }
});
