import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { conformance } from '../conformance/conformance.fixture.ts';
import { openSqliteStore } from './store.ts';

conformance('SQLite', async (options = {}) => {
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-store-'));
  const open = () => openSqliteStore({ directory, onDamage: assert.fail, ...options });
  let store = await open();
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await open();
      return store;
    },
    remove: async () => {
      await store.close();
      rmSync(directory, { recursive: true });
    },
  };
});
