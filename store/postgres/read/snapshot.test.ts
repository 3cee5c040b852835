import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Database, ReadSession } from '../connection/database.ts';
import type { Answered } from '../connection/script.ts';
import { snapshotsOf, type Snapshot } from './snapshot.ts';
import { fragment } from './sql.ts';

/** A database that notes what it is sent. Its catalog has the type `pods.` with the number of the catalog's version. */
function fakeDatabase() {
  const sent: string[][] = [];
  const state = { version: 1 };
  const answer = (...row: readonly (string | number)[]): Answered => {
    return { rows: [row.map(String)], columnTypes: row.map(() => 0), copied: [] };
  };
  const answerTo = (text: string): Answered => {
    if (text.startsWith('SELECT q.last')) return answer(70, 0, state.version, 5);
    if (text.startsWith('SELECT id, key')) return answer(state.version, 'pods.');
    if (text.startsWith('SELECT id, incarnation')) return { rows: [], columnTypes: [], copied: [] };
    return answer(text);
  };
  const run = (texts: readonly string[]): readonly Answered[] => {
    sent.push(texts.map((text) => text.replaceAll(/\s+/g, ' ')));
    return texts.map(answerTo);
  };
  const session: ReadSession = {
    begin: async (...texts) => run(texts),
    run: async (text) => run([text]),
    runAlone: async (text) => run([text])[0]!,
    readerOf: () => (value) => value,
  };
  const database: Pick<Database, 'reading' | 'schema'> = { schema: 's', reading: (work) => work(session) };
  return { database, sent, state };
}

const askType = async ({ rows, catalog }: Snapshot): Promise<string> => {
  const [row] = await rows<readonly [string]>(fragment('type ?', catalog.types.get('pods.')));
  return row![0];
};

test('a short question is one message with its transaction, once the catalog is known', async () => {
  const { database, sent } = fakeDatabase();
  const inSnapshot = snapshotsOf(database);
  assert.equal(await inSnapshot(askType, { isShort: true }), "type '1'");
  sent.length = 0;
  assert.equal(await inSnapshot(askType, { isShort: true }), "type '1'");
  assert.deepEqual(
    sent.map((texts) => texts.slice(1)),
    [["type '1'", 'COMMIT']],
  );
  assert.match(sent[0]![0]!, /^SELECT q\.last/);
});

test('a question that was made with an outdated catalog is made again with the new one', async () => {
  for (const isShort of [true, false]) {
    const { database, state } = fakeDatabase();
    const inSnapshot = snapshotsOf(database);
    await inSnapshot(askType);
    state.version = 2;
    assert.equal(await inSnapshot(askType, { isShort }), "type '2'");
  }
});

test('a question that asks nothing, because its type is not known, is made again when the catalog was outdated', async () => {
  const { database, state } = fakeDatabase();
  const inSnapshot = snapshotsOf(database);
  const known = async ({ catalog }: Snapshot): Promise<number> => catalog.types.get('pods.')!;
  await inSnapshot(known);
  state.version = 2;
  assert.equal(String(await inSnapshot(known, { isShort: true })), '2');
});

test('a question that needs more than the one statement it was thought to need sees one moment all the same', async () => {
  const { database, sent } = fakeDatabase();
  const inSnapshot = snapshotsOf(database);
  await inSnapshot(askType);
  sent.length = 0;
  const both = async (snapshot: Snapshot): Promise<readonly string[]> => [
    await askType(snapshot),
    await askType(snapshot),
  ];
  assert.equal((await inSnapshot(both, { isShort: true })).length, 2);
  const [wasted, begun, ...rest] = sent;
  assert.equal(wasted!.at(-1), 'COMMIT');
  assert.equal(begun!.length, 1);
  assert.deepEqual(rest, [["type '1'"], ["type '1'"]]);
});

test('a question that fails for what an outdated catalog lacks, before it asks anything, is made again', async () => {
  for (const isShort of [true, false]) {
    const { database, state } = fakeDatabase();
    const inSnapshot = snapshotsOf(database);
    await inSnapshot(askType);
    state.version = 2;
    const second = async (snapshot: Snapshot): Promise<string> => {
      if (snapshot.catalog.version < 2) throw new TypeError('not in this catalog');
      return askType(snapshot);
    };
    assert.equal(await inSnapshot(second, { isShort }), "type '2'");
    const never = (): Promise<string> => Promise.reject(new TypeError('in no catalog'));
    await assert.rejects(inSnapshot(never, { isShort }), /in no catalog/);
  }
});

test('a catalog that was read late does not take the place of a newer one', async () => {
  const { database, state } = fakeDatabase();
  const late = Promise.withResolvers<void>();
  const reading: typeof database.reading = (work) =>
    database.reading((session) =>
      work({
        ...session,
        run: async (text) => {
          const answered = await session.run(text);
          if (state.version === 1 && text.startsWith('SELECT id, incarnation')) await late.promise;
          return answered;
        },
      }),
    );
  const inSnapshot = snapshotsOf({ schema: database.schema, reading });
  const older = inSnapshot(askType);
  await new Promise(setImmediate);
  state.version = 2;
  assert.equal(await inSnapshot(askType), "type '2'");
  late.resolve();
  assert.equal(await older, "type '1'");
  const seen: number[] = [];
  await inSnapshot(async (snapshot) => {
    seen.push(snapshot.catalog.version);
    await snapshot.moment();
  });
  assert.deepEqual(seen, [2], 'the first look is at the newer one');
});
