// What a failure of the database is told as, where no test with a real server or pooler brings it about.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { databaseError } from './errors.ts';

/** What is told for a failure with an SQLSTATE. */
function told(code: string, message: string): string {
  return (databaseError(Object.assign(new Error(message), { code })) as Error).message;
}

test('what PgBouncer of any version refuses is told with what to do', () => {
  const cases: readonly (readonly [message: string, said: RegExp])[] = [
    ['no such user: fleet', /refuses the password/],
    ['password authentication failed', /refuses the password/],
    ['no such database: fleet', /has no database of this name/],
    ['no more connections allowed (max_client_conn)', /raise max_client_conn there/],
    ['query_wait_timeout', /raise default_pool_size there/],
    ['pgbouncer cannot connect to server', /not reachable from its pooler/],
    [
      'server login has been failing, cached error: connect failed (server_login_retry)',
      /not reachable from its pooler/,
    ],
    ['client_login_timeout (server down)', /not reachable from its pooler/],
  ];
  for (const [message, said] of cases) assert.match(told('08P01', message), said);
});

test('a failure that nothing is known of is told with its SQLSTATE, and its text, which may hold data, is not', () => {
  assert.equal(told('08P01', 'secret'), 'the database of the index has refused a statement (SQLSTATE 08P01)');
  assert.equal(told('22023', 'secret'), 'the database of the index has refused a statement (SQLSTATE 22023)');
});
