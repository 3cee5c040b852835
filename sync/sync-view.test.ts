import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SyncHandle } from './member/sync-types.ts';
import { localSyncView } from './sync-view.ts';

test('who hears of a change of the sync sees another version of it, and progress alone is none', () => {
  const listeners: (() => void)[] = [];
  const sync: SyncHandle = {
    state: () => [],
    stateOf: () => [],
    confirmedAtMs: () => 7,
    onChange: (listener) => {
      listeners.push(listener);
      return () => void listeners.splice(listeners.indexOf(listener), 1);
    },
    rebuild: async () => false,
    close: async () => undefined,
  };
  const view = localSyncView(sync);
  const heard: number[] = [];
  const end = view.onChange(() => heard.push(view.version));
  const first = view.version;
  assert.equal(view.confirmedAtMs('record/life', { group: '', resource: 'pods' }), 7);
  assert.equal(view.version, first);
  for (const listener of listeners) listener();
  end();
  for (const listener of listeners) listener();
  assert.equal(heard.length, 1);
  assert.equal(new Set([first, ...heard, view.version]).size, 3);
});
