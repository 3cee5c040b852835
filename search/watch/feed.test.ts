import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogEntry } from '../../store/store.ts';
import { makeChangeFeed } from './feed.ts';

/** A store whose log grows by an entry of a type for each commit. */
function growingStore() {
  const log: LogEntry[] = [];
  const listeners = new Set<(version: string) => void>();
  let version = 1_000;
  let reads = 0;
  return {
    commit: (type: string): void => {
      version += 1;
      log.push({ type, resourceVersion: String(version) } as LogEntry);
      for (const listener of listeners) listener(String(version));
    },
    get reads() {
      return reads;
    },
    resourceVersion: () => String(version),
    changes: (from: string, types: readonly string[]) => {
      reads += 1;
      return Promise.resolve(log.filter((entry) => entry.resourceVersion > from && types.includes(entry.type)));
    },
    onCommit: (listener: (version: string) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

test('a commit wakes those who watch its type only, and they read on together from wherever each of them was', async (t) => {
  const store = growingStore();
  const feed = makeChangeFeed(store);
  t.after(() => feed.close());
  const woken: string[] = [];
  let pods = Promise.withResolvers<void>();
  let nodes = Promise.withResolvers<void>();
  feed.onCommit(() => pods.resolve(), ['pods.']);
  feed.onCommit(() => woken.push('another watcher of pods'), ['pods.']);
  feed.onCommit(() => nodes.resolve(), ['nodes.']);
  for (let commits = 0; commits < 3; commits++) {
    store.commit('nodes.');
    await nodes.promise;
    nodes = Promise.withResolvers();
  }
  assert.deepEqual(woken, []);
  store.commit('pods.');
  await pods.promise;
  pods = Promise.withResolvers();
  assert.deepEqual(woken, ['another watcher of pods']);
  const before = store.reads;
  const found = await Promise.all(['1000', '1001', '1003'].map((from) => feed.read(from, ['pods.'])));
  assert.deepEqual(
    found.map(({ entries, reached }) => [entries.map(({ resourceVersion }) => resourceVersion), reached]),
    [
      [['1004'], '1004'],
      [['1004'], '1004'],
      [['1004'], '1004'],
    ],
  );
  assert.equal(store.reads, before);
  // Who is older than that reads by itself, and misses nothing.
  assert.equal((await feed.read('0999', ['pods.', 'nodes.'])).entries.length, 4);
});
