// How the index reaches its PostgreSQL, and what a person is told when it does not: a real server with a certificate.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { join } from 'node:path';

import { createAuthority } from '../../../pretend/certificates.ts';
import { freePort } from '../../../controlplane/processes.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../../../store/postgres/store.ts';

let server: PostgresServer;
/** Files of certificates by name. */
let file: (name: string) => string;
before(async () => {
  if (needsPostgres.skip !== false) return;
  const authority = await createAuthority('authority of databases');
  const other = await createAuthority('another');
  const clients = await createAuthority('clients');
  const now = await authority.issue({ commonName: 'database', dnsNames: ['localhost'], usage: 'server' });
  const client = await clients.issue({ commonName: 'tester', usage: 'client' });
  const old = await clients.issue({ commonName: 'tester', usage: 'client', notAfter: new Date(Date.now() - 60_000) });
  server = await startPostgresServer({
    settings: { ssl: 'on', ssl_ca_file: 'root.crt' },
    // One database asks for a client certificate, the others for a password.
    hba: ['hostssl certified all 127.0.0.1/32 cert', 'host all refused 127.0.0.1/32 reject'],
    files: { 'server.crt': now.certPem, 'server.key': now.keyPem, 'root.crt': clients.certPem },
  });
  file = (name) => join(server.directory, name);
  const files: Readonly<Record<string, string>> = {
    'ca.crt': authority.certPem,
    'other.crt': other.certPem,
    'client.crt': client.certPem,
    'client.key': client.keyPem,
    'old.crt': old.certPem,
    'old.key': old.keyPem,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(file(name), text);
  await server.createDatabase('certified');
  await server.run(`CREATE ROLE guest LOGIN PASSWORD 'guest'; CREATE ROLE refused LOGIN PASSWORD 'x'; SELECT 1`);
});
after(() => server?.stop());

/** The URL of the server with another host, user or parameters. */
function at(change: { host?: string; user?: string; password?: string; database?: string }, query = ''): string {
  const url = new URL(server.url);
  url.hostname = change.host ?? '127.0.0.1';
  if (change.user !== undefined) url.username = change.user;
  if (change.password !== undefined) url.password = change.password;
  if (change.database !== undefined) url.pathname = change.database;
  return `${url.href}${query}`;
}

async function opens(options: PostgresStoreOptions): Promise<void> {
  await (await openPostgresStore(options)).close();
}

async function refuses(url: string, message: RegExp, rest: Partial<PostgresStoreOptions> = {}): Promise<void> {
  await assert.rejects(opens({ url, ...rest }), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'INDEX_UNAVAILABLE');
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /secret of tests/);
    return true;
  });
}

test(
  'the password is taken from the URL, from a file or from the environment, and a wrong one is said',
  needsPostgres,
  async () => {
    await opens({ url: at({}) });
    await opens({ url: at({ password: '' }), password: 'secret of tests' });
    await refuses(at({ password: '' }), /asks for a password/);
    writeFileSync(file('password-of-index'), 'secret of tests\n');
    await opens({ url: at({ password: 'wrong' }), passwordFile: file('password-of-index') });
    await refuses(at({ password: 'wrong' }), /refuses the password/);
    await refuses(at({}), /password file .*nothing-here/, { passwordFile: file('nothing-here') });
  },
);

test(
  'a server that is not there, another database and a user who may not come in are told apart',
  needsPostgres,
  async () => {
    const port = await freePort();
    await refuses(`postgres://u:p@127.0.0.1:${port}/x`, /nothing listens there/);
    await refuses('postgres://u:p@no-such-host.invalid/x?sslmode=disable', /name is not known|cannot be looked up/);
    await refuses(at({ database: 'nothing' }), /no database of this name/);
    await refuses(at({ user: 'refused', password: 'x' }), /does not let this user in/);
    await refuses(at({ user: 'guest', password: 'guest' }), /does not give this user the rights/);
  },
);

test('the server is reached by its unix socket', needsPostgres, async () => {
  const { port, directory } = server;
  const url = `postgres:///postgres?host=${directory}&port=${port}&user=tester`;
  await opens({ url, password: 'secret of tests' });
  await refuses(`postgres:///postgres?host=${directory}/none&user=tester`, /no such socket/);
});

test(
  'sslmode=verify-full checks authority and name, verify-ca only the authority, require neither',
  needsPostgres,
  async () => {
    const ca = `sslrootcert=${file('ca.crt')}`;
    const localhost = { host: 'localhost' };
    await opens({ url: at(localhost, `?sslmode=verify-full&${ca}`) });
    await refuses(at({}, `?sslmode=verify-full&${ca}`), /certificate of another name/);
    await opens({ url: at({}, `?sslmode=verify-ca&${ca}`) });
    await refuses(at({}, `?sslmode=verify-ca&sslrootcert=${file('other.crt')}`), /not trusted/);
    await refuses(at(localhost, '?sslmode=verify-full'), /not trusted/);
    await opens({ url: at({}, '?sslmode=require') });
    await refuses(at({}, `?sslmode=require&sslrootcert=${file('other.crt')}`), /not trusted/);
  },
);

test('modes that fall back to plain text, and parameters nobody reads, are refused', needsPostgres, async () => {
  await refuses(at({}, '?sslmode=prefer'), /sslmode=prefer can end in a connection without TLS/);
  await refuses(at({}, '?sslmod=verify-full'), /parameter "sslmod" .* is not known/);
  await refuses('mysql://localhost/x', /cannot be read/);
});

test('a client certificate opens the database, and one that has expired is said', needsPostgres, async () => {
  const of = (name: string): string =>
    `?sslmode=verify-ca&sslrootcert=${file('ca.crt')}&sslcert=${file(`${name}.crt`)}&sslkey=${file(`${name}.key`)}`;
  const certified = { database: 'certified', password: '' };
  await opens({ url: at(certified, of('client')) });
  await refuses(at(certified, of('old')), /client certificate has expired/);
  await refuses(at(certified, `?sslmode=require`), /client certificate/);
  await refuses(at(certified, `?sslmode=require&sslcert=${file('client.crt')}`), /give both/);
});

test('tables that Citus distributes are refused, those that it leaves here are not', needsPostgres, async () => {
  await server.createDatabase('citus');
  const url = at({ database: 'citus' });
  await opens({ url });
  // The catalog of Citus, as far as it is read. Citus itself is not on the machines that run this.
  const add = (schema: string, table: string, colocation: number) =>
    server.run(`INSERT INTO pg_dist_partition VALUES ('${schema}.${table}', ${colocation})`, 'citus');
  await server.run(
    `SET allow_system_table_mods = on; CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, colocationid int4);
    CREATE TABLE public.obj ()`,
    'citus',
  );
  await opens({ url });
  await add('public', 'obj', 1);
  await add('portcullis', 'sequencer', 0);
  await opens({ url });
  await add('portcullis', 'obj', 2);
  await refuses(
    url,
    /^the database of the index has a schema "portcullis" that Citus distributes \(table "obj"\), .*another schema/,
  );
});

test('a server that is too old is named with its version, and what to do', needsPostgres, async () => {
  const old = await startOldServer();
  try {
    await refuses(
      `postgres://u@127.0.0.1:${old.port}/x?sslmode=disable`,
      /^the database of the index is PostgreSQL 14\.20: the index needs 15 or newer, update it$/,
    );
  } finally {
    old.close();
  }
});

/** What a server of PostgreSQL 14 says to any client and any question, in the bytes of its protocol. */
async function startOldServer(): Promise<{ readonly port: number; close(): void }> {
  const message = (type: string, ...parts: readonly Buffer[]): Buffer => {
    const body = Buffer.concat(parts);
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const int = (bytes: 2 | 4, value: number): Buffer => {
    const buffer = Buffer.alloc(bytes);
    buffer.writeIntBE(value, 0, bytes);
    return buffer;
  };
  const status = (name: string, value: string): Buffer => message('S', Buffer.from(`${name}\0${value}\0`));
  const ready = message('Z', Buffer.from('I'));
  const hello = [message('R', int(4, 0)), status('server_version', '14.20'), status('client_encoding', 'UTF8'), ready];
  const text = 25;
  const column = (name: string): Buffer[] => [
    ...[Buffer.from(`${name}\0`), int(4, 0), int(2, 0), int(4, text), int(2, -1), int(4, -1), int(2, 0)],
  ];
  const value = (of: string): Buffer[] => [int(4, of.length), Buffer.from(of)];
  const answer = [
    ...[message('1'), message('2'), message('T', int(2, 2), ...column('number'), ...column('version'))],
    ...[message('D', int(2, 2), ...value('140020'), ...value('14.20')), message('C', Buffer.from('SELECT 1\0')), ready],
  ];
  const server = createServer((socket) => {
    let isKnown = false;
    socket
      .on('error', () => undefined)
      .on('data', (chunk: Buffer) => {
        // Whatever is asked is asked by one simple question, or by several messages that end with Sync.
        const isQuestion = chunk.includes('Q') || chunk.includes('S');
        if (!isKnown) socket.write(Buffer.concat(hello));
        else if (isQuestion) socket.write(Buffer.concat(answer));
        isKnown = true;
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}
