import assert from 'node:assert/strict';

import { conformance } from '../conformance/conformance.fixture.ts';
import { openSqliteStore } from './store.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

conformance('SQLite', async (options = {}) => {
  const directory = tempDir('store');
  const open = () => openSqliteStore({ directory, onDamage: assert.fail, ...options });
  let store = await open();
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await open();
      return store;
    },
    remove: () => store.close(),
  };
});
