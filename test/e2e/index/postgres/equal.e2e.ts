// The index in SQLite and the one in PostgreSQL, filled with the same batches, are asked the same random questions:
// rows, order, cursors, counts, facets, warnings and errors must be the same to the byte, and either goes on from a
// cursor of the other. PORTCULLIS_STORE_QUESTIONS asks for more questions, PORTCULLIS_STORE_SEED for others.
// Landing tier: random questions have the same answers in both stores.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';

import type { BodyLimits } from '../../../../store/body-budget.ts';
import { TestedStore } from '../../../../store/conformance/tested-store.fixture.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import { postgresStores } from '../../../site/postgres-store.fixture.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { askedArbitrary, hostileBatches } from '../hostile-questions.ts';
import { countAnswers, listAnswer, type AskedQuestion } from '../store-answers.ts';
import { tempDir } from '../../../pretend/temp-dir.ts';

const questions = Number(process.env.PORTCULLIS_STORE_QUESTIONS ?? 1000);
const seed = Number(process.env.PORTCULLIS_STORE_SEED ?? 1);
/** Few enough that many questions reach them; never by time, which is another each time. */
const bodyLimits: BodyLimits = { bodies: 40, bytes: 1 << 20, cpuMs: 600_000 };
/** Pages of one question that are compared. */
const mostPages = 8;

describe('two stores with the same rows', needsPostgres, () => {
  const directory = tempDir('equal');
  let server: PostgresServer;
  let sqlite: TestedStore;
  let postgres: TestedStore;
  before(async () => {
    server = await startPostgresServer();
    sqlite = await TestedStore.open(async () => {
      const store = await openSqliteStore({ directory, bodyLimits, onDamage: assert.fail });
      return { store, reopen: () => assert.fail(), remove: () => store.close() };
    });
    postgres = await TestedStore.open(
      postgresStores(() => server),
      { bodyLimits },
    );
    const batches = hostileBatches(seed);
    await sqlite.fill(batches);
    await postgres.fill(batches);
  });
  after(async () => {
    await sqlite.remove();
    await postgres.remove();
    await server.stop();
  });

  /** Goes on with the cursor of the one, then with that of the other. */
  const checkLists = async (asked: AskedQuestion): Promise<void> => {
    let page = asked.page;
    for (let pages = 1; pages <= mostPages; pages++) {
      const expected = await listAnswer(sqlite.store, asked, page);
      const found = await listAnswer(postgres.store, asked, page);
      assert.equal(found.text, expected.text);
      if (expected.next === undefined) return;
      const { offset: _, ...rest } = page;
      page = { ...rest, after: pages % 2 === 0 ? expected.next : found.next! };
    }
  };

  test('answer random questions of users with random rights the same to the byte', async (t) => {
    const kinds = new Map<string, number>();
    const property = fc.asyncProperty(askedArbitrary, async (asked) => {
      await checkLists(asked);
      const expected = await countAnswers(sqlite.store, asked);
      assert.deepEqual(await countAnswers(postgres.store, asked), expected);
      const kind = expected[0]!.startsWith('BAD_REQUEST') ? 'refused' : expected[0] === '0' ? 'empty' : 'answered';
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    });
    await fc.assert(property, { numRuns: questions, seed });
    t.diagnostic(JSON.stringify(Object.fromEntries(kinds)));
    assert.ok(kinds.get('answered')! > questions / 4);
  });

  test('keep the same types and versions', async () => {
    const kept = async ({ store }: TestedStore): Promise<unknown> => {
      const types = await store.types();
      const versions = await Promise.all(types.map(({ incarnation, type }) => store.versions(incarnation.id, type)));
      const all = types.map((type, i) => [type.incarnation.id, type.type.resource, type, versions[i]]);
      return all.map((one) => JSON.stringify(one)).toSorted();
    };
    assert.deepEqual(await kept(postgres), await kept(sqlite));
  });
});
