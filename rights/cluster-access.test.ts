import assert from 'node:assert/strict';
import { test } from 'node:test';

import { makeAccess } from './cluster-access.ts';
import type { AskedClusters } from './access/who-can.ts';
import type { AccessParts } from './cluster-access.ts';
import { testRecord, testUser } from './rights.fixture.ts';

const records = [
  testRecord('dev', { env: 'dev' }),
  testRecord('prod', { env: 'prod' }),
  testRecord('secret', { env: 'prod' }),
];

/** Finds access in a fleet of three clusters, of which the caller may reach dev and prod. */
const access = makeAccess({
  scopes: {
    scope: async () => ({
      reachable: new Map([
        ['dev', new Set()],
        ['prod', new Set()],
      ]),
      hidden: [],
      scope: { digest: '' },
    }),
  },
  stored: { all: async () => new Map() },
  clusters: { list: () => records },
} as unknown as AccessParts);

async function namesOf(clusterSelector: AskedClusters['clusterSelector']): Promise<readonly string[]> {
  const { clusters } = await access(testUser('asker'), { clusters: undefined, clusterSelector });
  return clusters.map(({ cluster }) => cluster);
}

test('a selector of clusters chooses among those that the caller may reach, and no others', async () => {
  assert.deepEqual(await namesOf(undefined), ['dev', 'prod']);
  assert.deepEqual(await namesOf(({ env }) => env === 'prod'), ['prod']);
  assert.deepEqual(await namesOf(() => true), ['dev', 'prod']);
  assert.deepEqual(await namesOf(() => false), []);
});
