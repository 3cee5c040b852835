import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allOf } from '../../query/list-query.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import { scopeAllows } from '../request/visible.ts';
import type { LogEntry, RowRead } from '../../store/store.ts';
import { makeChangeFeed } from './feed.ts';
import type { ChangeFeed } from './feed.ts';
import { rightsEvents } from './rights-change.ts';

const type = 'secrets.';
const incarnation = 'a/1';
const raw = Buffer.from('{}');

function scope(...namespaces: readonly string[]): RowScope {
  const grants = new Map([[incarnation, new Map([[type, { namespaces, names: [] }]])]]);
  return { grants, digest: namespaces.join() };
}
function row(namespace: string, name: string): RowRead {
  return { type, cluster: 'a', incarnation, namespace, name, uid: name, raw };
}
function entry(version: number, namespace: string, name: string, kind: 'made' | 'changed' | 'gone'): LogEntry {
  const { raw: _, ...rest } = row(namespace, name);
  const before = kind === 'made' ? undefined : raw;
  return { ...rest, resourceVersion: `${1_000 + version}`, before, after: kind === 'gone' ? undefined : raw };
}

/** A store of these rows at version 1050, with this log. */
function storeOf(rows: readonly RowRead[], log: readonly LogEntry[]) {
  const point = { resourceVersion: '1050', rightsVersion: '' };
  const seen = (each: RowScope): RowRead[] => rows.filter((one) => scopeAllows(each, one));
  return {
    count: (_: unknown, each: RowScope) => Promise.resolve({ ...point, count: seen(each).length }),
    list: (_: unknown, each: RowScope) =>
      Promise.resolve({
        ...point,
        next: undefined,
        remaining: undefined,
        chunks: (async function* () {
          yield seen(each);
        })(),
      }),
    resourceVersion: () => '1050',
    changes: (from: string) => Promise.resolve(log.filter(({ resourceVersion }) => resourceVersion > from)),
    onCommit: () => () => undefined,
  };
}

async function change(
  store: ReturnType<typeof storeOf>,
  before: RowScope,
  after: RowScope,
  feed: ChangeFeed = makeChangeFeed(store),
) {
  const { events, position } = await rightsEvents(store, feed, {
    query: allOf({ group: '', resource: 'secrets' }),
    types: [type],
    before,
    after,
    position: '1000',
    wasSent: ({ before: known }) => known !== undefined,
  });
  return {
    position,
    shown: events.map((event) => `${event.kind} ${event.kind === 'entry' ? event.entry.name : event.row.name}`),
  };
}

test('rows out of reach are lost once, rows in reach are gained, the rest is sent as it happened', async () => {
  const store = storeOf(
    [row('kept', 'k1'), row('lost', 'l1'), row('lost', 'made-since'), row('won', 'w1')],
    [
      entry(1, 'kept', 'k1', 'changed'),
      entry(2, 'lost', 'l1', 'changed'),
      entry(3, 'lost', 'deleted-since', 'gone'),
      entry(4, 'lost', 'made-since', 'made'),
      entry(5, 'won', 'w1', 'changed'),
      // After the state that was listed: sent later, under the new rights.
      entry(55, 'kept', 'k1', 'changed'),
    ],
  );
  const { shown, position } = await change(store, scope('kept', 'lost'), scope('kept', 'won'));
  assert.deepEqual(shown, ['entry k1', 'lost l1', 'lost deleted-since', 'gained w1']);
  assert.equal(position, '1050');
});

test('what was committed between the reading of the log and that of the rows is sent, too', async () => {
  const store = storeOf([row('kept', 'k1'), row('won', 'w1')], [entry(1, 'kept', 'k1', 'changed')]);
  const log = [entry(1, 'kept', 'k1', 'changed')];
  // Its readers see a commit before the listeners are called: the feed still has what it read for others.
  const late = { ...store, changes: () => Promise.resolve([...log]), resourceVersion: () => '1010' };
  const feed = makeChangeFeed(late);
  await feed.read('1000', [type]);
  log.push(entry(45, 'kept', 'k2', 'made'), entry(46, 'won', 'w1', 'made'), entry(47, 'kept', 'k1', 'gone'));
  const { shown, position } = await change(late, scope('kept'), scope('kept', 'won'), feed);
  assert.deepEqual(shown, ['entry k1', 'entry k2', 'entry k1', 'gained w1']);
  assert.equal(position, '1050');
});

test('more than a thousand rows that come or go end the watch', async () => {
  const rows = Array.from({ length: 1_001 }, (_, i) => row('lost', `l${i}`));
  await assert.rejects(change(storeOf(rows, []), scope('lost'), scope()), { code: 'EXPIRED' });
  await assert.rejects(change(storeOf(rows, []), scope(), scope('lost')), { code: 'EXPIRED' });
  // As many come as go.
  const others = rows.map((each, i) => ({ ...each, namespace: 'won', name: `w${i}` }));
  await assert.rejects(change(storeOf([...rows, ...others], []), scope('lost'), scope('won')), { code: 'EXPIRED' });
  assert.equal((await change(storeOf(rows.slice(1), []), scope('lost'), scope())).shown.length, 1_000);
});
