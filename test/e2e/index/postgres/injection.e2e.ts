// Texts that mean something to SQL, patterns and parsers, in every place of a question and of a row where a text of a
// caller or of a member goes. Each finds the object that holds it and no other, and the tables stay as they are.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { PathStep } from '../../../../lib/json/raw-json.ts';
import { allOf, type ListQuery } from '../../../../query/list-query.ts';
import { printPath } from '../../../../query/path.ts';
import type { RowScope } from '../../../../query/scope/scope.ts';
import { rowWrite, typeInfo, type ModelRow } from '../../../../store/conformance/model.fixture.ts';
import { rowsOf, TestedStore } from '../../../../store/conformance/tested-store.fixture.ts';
import { hostileValues, loneSurrogate } from '../../../attack/index/index-corpus.ts';
import { postgresStores } from '../../../site/postgres-store.fixture.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';

const pods = typeInfo('', 'pods');
const incarnation = { id: 'record/system', cluster: 'alpha' };

/** One row for each text, which is its name, namespace, uid, owner, label, label's key, phase and a path's key. */
function hostileRow(text: string): ModelRow {
  return {
    cluster: incarnation.cluster,
    incarnation: incarnation.id,
    type: pods,
    namespace: text,
    name: text,
    uid: text,
    ownerUid: text,
    createdAtMs: 0,
    resourceVersion: '1',
    labels: { [text]: text, same: text },
    rest: { status: { phase: text }, data: JSON.parse(`{${JSON.stringify(text)}: ${JSON.stringify(text)}}`) as object },
  };
}

const key = (...keys: readonly string[]): readonly PathStep[] => keys.map((step) => ({ kind: 'key', key: step }));
const everything: RowScope = {
  digest: 'everything',
  grants: new Map([incarnation.id, ...hostileValues].map((id) => [id, new Map([['pods.', 'all' as const]])])),
};

/** Questions that ask for exactly one text. */
const exact: Readonly<Record<string, (text: string) => Partial<ListQuery>>> = {
  names: (text) => ({ names: [text] }),
  namespaces: (text) => ({ namespaces: [text] }),
  uids: (text) => ({ uids: [text] }),
  label: (text) => ({ labels: [{ key: 'same', operator: 'In', values: [text] }] }),
  'key of a label': (text) => ({ labels: [{ key: text, operator: 'Exists', values: [] }] }),
  'indexed path': (text) => ({ fields: [{ path: key('status', 'phase'), operator: 'Equals', values: [text] }] }),
  'path of a label': (text) => ({
    fields: [{ path: key('metadata', 'labels', text), operator: 'In', values: [text] }],
  }),
  'path that is not indexed': (text) => ({ fields: [{ path: key('data', text), operator: 'Equals', values: [text] }] }),
  'uid of an owner': (text) => ({ owner: { uid: text, seniority: 0 } }),
  'name of an owner': (text) => ({ owner: { name: text, seniority: 0 } }),
  'namespace of an owner': (text) => ({ owner: { name: text, namespaces: [text], seniority: 0 } }),
};

describe('hostile texts in an index in PostgreSQL', needsPostgres, () => {
  let server: PostgresServer;
  let tested: TestedStore;
  before(async () => {
    server = await startPostgresServer();
    tested = await TestedStore.open(postgresStores(() => server));
    const upserts = hostileValues.map(hostileRow).map(rowWrite);
    await tested.lease(incarnation.id);
    await tested.apply({ incarnation, type: pods, deletes: [], upserts });
  });
  after(async () => {
    await tested.remove();
    await server.stop();
  });
  const namesOf = async (query: Partial<ListQuery>, scope = everything): Promise<readonly string[]> => {
    const page = await tested.store.list({ ...allOf(pods), ...query }, scope, {});
    return (await rowsOf(page)).map(({ name }) => name);
  };
  const inOrder = (texts: readonly string[]): readonly string[] =>
    texts.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));

  for (const [what, queryOf] of Object.entries(exact)) {
    test(`each text as ${what} finds its own object and no other (ATT-27)`, async () => {
      for (const text of hostileValues) assert.deepEqual(await namesOf(queryOf(text)), [text], JSON.stringify(text));
    });
  }

  test('clusters of such a name are not there (ATT-27)', async () => {
    assert.deepEqual(await namesOf({ clusters: hostileValues }), []);
    assert.deepEqual(await namesOf({ notClusters: hostileValues }), inOrder(hostileValues));
  });

  test('parts of names and values are no patterns (ATT-27)', async () => {
    const path = key('status', 'phase');
    for (const text of hostileValues) {
      const holding = inOrder(hostileValues.filter((other) => other.includes(text)));
      const shown = JSON.stringify(text);
      assert.deepEqual(await namesOf({ nameContains: [text] }), holding, shown);
      assert.deepEqual(await namesOf({ fields: [{ path, operator: 'Contains', values: [text] }] }), holding, shown);
      const lower = text.toLowerCase();
      const alike = inOrder(hostileValues.filter((other) => `same\n${other}`.toLowerCase().includes(lower)));
      assert.deepEqual(await namesOf({ text: [text] }), alike, shown);
    }
  });

  test('facets and completed values give each text back as it is (ATT-27)', async () => {
    const once = inOrder(hostileValues);
    for (const by of ['namespace', { label: 'same' }, { path: 'status.phase' }] as const) {
      const { counts } = await tested.store.facets(allOf(pods), everything, by, 1000);
      assert.deepEqual(
        counts,
        once.map((value) => ({ value, count: 1 })),
      );
      for (const text of hostileValues) {
        const { values } = await tested.store.values(allOf(pods), everything, by, text, 1000);
        assert.deepEqual(
          values,
          inOrder(hostileValues.filter((other) => other.startsWith(text))),
          JSON.stringify(text),
        );
      }
    }
    for (const text of hostileValues) {
      for (const by of [{ label: text }, { path: printPath(key('data', text)) }]) {
        const { counts } = await tested.store.facets(allOf(pods), everything, by, 1000);
        assert.deepEqual(counts, [{ value: text, count: 1 }], JSON.stringify(by));
      }
    }
  });

  test('rights to namespaces and names of such a text are rights to that object alone (ATT-27)', async () => {
    for (const text of hostileValues) {
      for (const grant of [
        { namespaces: [text], names: [] },
        { namespaces: [], names: [{ namespace: text, name: text }] },
        { namespaces: [], names: [{ namespace: undefined, name: text }] },
      ]) {
        const scope = { digest: text, grants: new Map([[incarnation.id, new Map([['pods.', grant]])]]) };
        assert.deepEqual(await namesOf({}, scope), [text], JSON.stringify(grant));
      }
    }
  });

  test('half a surrogate pair as any text fails nothing and finds nothing that has another name (ATT-27)', async () => {
    for (const queryOf of Object.values(exact)) {
      for (const name of await namesOf(queryOf(loneSurrogate))) assert.equal(name, '\ufffd');
    }
  });

  test('orders by paths of such keys, and cursors that hold such names, go through all rows once (ATT-27)', async () => {
    for (const by of ['name', 'namespace', 'cluster'] as const) {
      const found: string[] = [];
      const query: ListQuery = { ...allOf(pods), order: [{ by, descending: true }] };
      for (let after; ;) {
        const page = await tested.store.list(query, everything, {
          limit: 1,
          ...(after === undefined ? {} : { after }),
        });
        found.push(...(await rowsOf(page)).map(({ name }) => name));
        if (page.next === undefined) break;
        after = page.next;
      }
      assert.deepEqual(found.toSorted(), hostileValues.toSorted());
    }
    for (const text of hostileValues) {
      const first = await namesOf({ order: [{ by: key('data', text), descending: false }] });
      assert.equal(first[0], text);
    }
  });

  test('afterwards the tables hold what they held (ATT-27)', async () => {
    assert.equal((await tested.store.count(allOf(pods), everything)).count, hostileValues.length);
    assert.deepEqual(
      (await tested.store.types()).map((one) => one.incarnation),
      [incarnation],
    );
  });
});
