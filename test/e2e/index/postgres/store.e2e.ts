// What every store keeps, kept by the index in a real PostgreSQL.
// Landing tier: the index in PostgreSQL answers as in SQLite.
import { after, before, describe } from 'node:test';

import { conformance } from '../../../../store/conformance/conformance.fixture.ts';
import { postgresStores } from '../../../site/postgres-store.fixture.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';

describe('the index in PostgreSQL', needsPostgres, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgresServer();
  });
  after(() => server.stop());

  conformance(
    'PostgreSQL',
    postgresStores(() => server),
  );
});
