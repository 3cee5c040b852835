import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../config.ts';
import type { ConfigInput } from '../written.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

const rest: ConfigInput = { kubeconfig: ['clusters.yaml'], tokenAuthFile: 'tokens.csv' };
const url = 'postgres://index@db.example.com/portcullis';

function storeOf(given: ConfigInput, environment: NodeJS.ProcessEnv = {}) {
  return readConfig({ ...rest, ...given }, environment, false).index!.store;
}

function refuses(given: ConfigInput, message: RegExp, environment: NodeJS.ProcessEnv = {}): void {
  assert.throws(
    () => storeOf(given, environment),
    (error: Error) => {
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /hidden/);
      return true;
    },
  );
}

test('the index is in SQLite unless a flag, the environment or the configuration file names a database', () => {
  assert.equal(storeOf({}), undefined);
  assert.equal(storeOf({ indexStore: 'sqlite' }, { PORTCULLIS_INDEX_STORE: url }), undefined);
  assert.deepEqual(storeOf({ indexStore: url }), { url });
  assert.equal(storeOf({}, { PORTCULLIS_INDEX_STORE: url })?.url, url);
  const folder = tempDir('config');
  const file = join(folder, 'config.yaml');
  const text = `indexStore: ${url}\nindexStorePasswordFile: password\nindexStoreSchema: fleet\nindexStoreConnections: 20\n`;
  writeFileSync(file, text);
  const expected = { url, passwordFile: join(folder, 'password'), schema: 'fleet', connections: 20 };
  assert.deepEqual(storeOf({ config: file }, { PORTCULLIS_INDEX_STORE: 'sqlite' }), expected);
  const { passwordFile } = storeOf({ config: file, indexStorePasswordFile: 'other' })!;
  assert.equal(passwordFile, resolve('other'));
});

test('an index in a database starts with the gateway', () => {
  assert.equal(readConfig({ ...rest, indexStore: url }, {}, false).index?.startsAtOnce, true);
  assert.equal(readConfig(rest, {}, false).index?.startsAtOnce, false);
});

test('a password comes by file or environment, and one on the command line is refused without being shown', () => {
  const withPassword = 'postgres://index:hidden@db.example.com/portcullis';
  assert.equal(storeOf({ indexStore: url }, { PORTCULLIS_INDEX_STORE_PASSWORD: 'hidden' })?.password, 'hidden');
  assert.equal(storeOf({}, { PORTCULLIS_INDEX_STORE: withPassword })?.url, withPassword);
  refuses({ indexStore: withPassword }, /--index-store.* has a password, which everybody on this machine can read/);
  refuses({ indexStore: `${url}?password=hidden` }, /--index-store.* has a password/);
});

test('an address that cannot be used is refused before anything starts, without being shown', () => {
  refuses({ indexStore: 'mysql://index:hidden@db/x' }, /is not "sqlite", and the database URL cannot be read/);
  refuses({ indexStore: 'postgres://db.example.com/x' }, /names no user/);
  refuses({ indexStore: 'postgres://index:hidden%@db/x' }, /a % that is no escape/);
  refuses({ indexStore: `${url}?sslmode=prefer` }, /sslmode=prefer can end in a connection without TLS/);
  refuses({ indexStore: `${url}?sslmod=require` }, /parameter "sslmod" .* is not known/);
  refuses({ indexStore: `${url}?sslcert=client.crt` }, /give both/);
  refuses({}, /is not "sqlite", and /, { PORTCULLIS_INDEX_STORE: 'postgres//index:hidden@db/x' });
});

test('settings that belong to the other store are refused', () => {
  refuses({ indexStorePasswordFile: 'password' }, /--index-store-password-file.* is for a database/);
  refuses({ indexStoreSchema: 'fleet' }, /--index-store-schema.* is for a database/);
  refuses({ indexStore: url, indexMaxBytes: '2Gi' }, /--index-max-bytes.* works only with SQLite/);
  refuses({ indexStore: url, indexStoreConnections: '1' }, /"1" is not a whole number from 4 to 1000/);
});
