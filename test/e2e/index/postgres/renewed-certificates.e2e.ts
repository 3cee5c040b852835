// Certificates of the connection between the index and its PostgreSQL are renewed while a store or a gateway runs: a
// real server that lets nobody in without a client certificate, and no restart.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { statSync, truncateSync, writeFileSync, chownSync } from 'node:fs';
import { after, before, beforeEach, test, type TestContext } from 'node:test';
import { join } from 'node:path';

import { startGatewayProcess, type GatewayProcess } from '../../../gateway-process.ts';
import { createAuthority, type Authority, type KeyPair } from '../../../pretend/certificates.ts';
import { kubeconfigOf } from '../../../pretend/kubeconfig.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { openPostgresStore, type PostgresStore } from '../../../../store/postgres/store.ts';

let server: PostgresServer;
/** Of the server's certificate. */
let authority: Authority;
/** Of certificates of clients. */
let clients: Authority;
let databases = 0;
/** A database of a user who has no password, only a client certificate. */
let database: string;

before(async () => {
  if (needsPostgres.skip !== false) return;
  [authority, clients] = [await createAuthority('authority of databases'), await createAuthority('clients')];
  const own = await ofServer(authority);
  server = await startPostgresServer({
    settings: { ssl: 'on', ssl_ca_file: 'root.crt' },
    hba: ['hostssl all certified 127.0.0.1/32 cert'],
    files: { 'server.crt': own.certPem, 'server.key': own.keyPem, 'root.crt': clients.certPem },
  });
  await server.run('CREATE ROLE certified LOGIN');
});
after(() => server?.stop());
beforeEach(async () => {
  if (needsPostgres.skip !== false) return;
  database = `certified_${(databases += 1)}`;
  await server.createDatabase(database);
  await server.run(`ALTER DATABASE ${database} OWNER TO certified`);
  writeFileSync(file('ca.crt'), authority.certPem);
  putPair(await clients.issue({ commonName: 'certified', usage: 'client' }));
});

function ofServer(issuer: Authority): Promise<KeyPair> {
  return issuer.issue({ commonName: 'database', dnsNames: ['localhost'], usage: 'server' });
}

function file(name: string): string {
  return join(server.directory, name);
}

/** Puts a certificate and its key where the URL names them. */
function putPair({ certPem, keyPem }: KeyPair): void {
  writeFileSync(file('client.crt'), certPem);
  writeFileSync(file('client.key'), keyPem);
}

function url(): string {
  const files = `sslrootcert=${file('ca.crt')}&sslcert=${file('client.crt')}&sslkey=${file('client.key')}`;
  return `postgres://certified@localhost:${server.port}/${database}?sslmode=verify-full&${files}`;
}

async function open(t: TestContext): Promise<PostgresStore> {
  const store = await openPostgresStore({ url: url(), connections: 4 });
  t.after(() => store.close());
  return store;
}

/** The server ends all connections to the database of this test. */
async function cut(): Promise<void> {
  await server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
}

/** Files of the server itself, which it reads anew. */
async function serverReads(files: Readonly<Record<string, string>>): Promise<void> {
  const { uid, gid } = statSync(file('data'));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(file(`data/${name}`), text, { mode: 0o600 });
    chownSync(file(`data/${name}`), uid, gid);
  }
  const loaded = async (): Promise<unknown> => (await server.run('SELECT pg_conf_load_time()::text AS at'))[0]!['at'];
  const before = await loaded();
  await server.run('SELECT pg_reload_conf()');
  await eventually('the server has read its files', async () => (await loaded()) !== before);
}

/** Resolves when the store answers and all its connections, also the one that listens, have this certificate. */
async function answersWith(store: PostgresStore, { certPem }: KeyPair): Promise<void> {
  const wanted = BigInt(`0x${new X509Certificate(certPem).serialNumber}`).toString();
  const serials = `SELECT client_serial::text AS serial, query FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
    WHERE datname = '${database}'`;
  await eventually('the store answers by the new certificate', async () => {
    await store.readPoint();
    const rows = await server.run(serials);
    assert.ok(rows.some(({ query }) => String(query).startsWith('LISTEN')));
    assert.deepEqual(new Set(rows.map(({ serial }) => serial)), new Set([wanted]));
    return store.status().fault === undefined;
  });
}

test(
  'a client certificate that expires is renewed under another key and authority, and the store goes on by itself',
  needsPostgres,
  async (t) => {
    putPair(await clients.issue({ commonName: 'certified', usage: 'client', notAfter: new Date(Date.now() + 4000) }));
    const store = await open(t);
    await eventually('it says so when the certificate has expired', async () => {
      await cut();
      const fault = await store.readPoint().then(
        () => '',
        (error: Error) => error.message,
      );
      return fault.endsWith('our client certificate has expired: renew the files of sslcert and sslkey');
    });
    await eventually('its status says so', () => /has expired/.test(store.status().fault ?? ''));
    const next = await createAuthority('next clients');
    await serverReads({ 'root.crt': clients.certPem + next.certPem });
    const renewed = await next.issue({ commonName: 'certified', usage: 'client' });
    putPair(renewed);
    await answersWith(store, renewed);
  },
);

test(
  'a renewal that is half written stops nothing: what was there before is used until both files are whole',
  needsPostgres,
  async (t) => {
    const store = await open(t);
    const renewed = await clients.issue({ commonName: 'certified', usage: 'client' });
    const answers = async (fault: RegExp): Promise<void> => {
      await cut();
      await eventually('the store answers', () => store.readPoint());
      assert.match(store.status().filesFault!, fault);
    };
    truncateSync(file('client.crt'));
    await answers(/sslcert file .*client\.crt .* does not hold whole certificates/);
    writeFileSync(file('client.crt'), renewed.certPem);
    await answers(/sslkey file .*client\.key .* is not the key of the certificate in .*client\.crt/);
    truncateSync(file('ca.crt'));
    await answers(/sslrootcert file .*ca\.crt .* does not hold whole certificates/);
    writeFileSync(file('ca.crt'), authority.certPem);
    putPair(renewed);
    await cut();
    await answersWith(store, renewed);
    assert.equal(store.status().filesFault, undefined);
  },
);

test(
  'a server whose certificate comes from another authority is trusted once the file of sslrootcert names it',
  needsPostgres,
  async (t) => {
    const store = await open(t);
    const next = await createAuthority('next authority of databases');
    const own = await ofServer(next);
    await serverReads({ 'server.crt': own.certPem, 'server.key': own.keyPem });
    await cut();
    await eventually('it is not trusted', () => /authority that is not trusted/.test(store.status().fault ?? ''));
    writeFileSync(file('ca.crt'), next.certPem);
    authority = next;
    await eventually('it is', () => store.readPoint());
  },
);

test(
  'a gateway tells at /readyz of certificates that are revoked or half written, and goes on when they are renewed',
  needsPostgres,
  async () => {
    await using gateway = await startGateway();
    await says(gateway, /: answered/);
    truncateSync(file('client.key'));
    await cut();
    await says(gateway, /: answered .*; new connections use what was there before: the sslkey file .* private key/);
    clients = await createAuthority('clients after the last were revoked');
    await serverReads({ 'root.crt': clients.certPem });
    await cut();
    await says(gateway, /does not trust the authority of our client certificate.*the sslkey file .* private key/);
    assert.equal((await fetch(`${gateway.opsUrl}/readyz`)).status, 200);
    putPair(await clients.issue({ commonName: 'certified', usage: 'client' }));
    await says(gateway, /: answered [^;]*$/);
  },
);

/** A gateway with an index, of a cluster that is not there. */
async function startGateway(): Promise<GatewayProcess> {
  const kubeconfig = file('away.kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf({ server: 'https://127.0.0.1:1' })));
  return await startGatewayProcess({
    kubeconfigs: [kubeconfig],
    users: [{ name: 'carol', token: 'carol-at-the-gateway' }],
    args: ['--index-resources', 'configmaps'],
    config: { indexStore: url() },
    env: { PORTCULLIS_TEST_TIME_SCALE: '0.1' },
  });
}

/** Resolves when the line about the index of /readyz matches. */
async function says(gateway: GatewayProcess, pattern: RegExp): Promise<void> {
  await eventually(`readyz says ${pattern}`, async () => {
    const text = await (await fetch(`${gateway.opsUrl}/readyz?verbose`)).text();
    const line = text.split('\n').find((one) => one.includes(']index '));
    assert.match(String(line), pattern);
    return true;
  });
}
