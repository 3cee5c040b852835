// The files of certificates that a database URL names, when they cannot be used: at the start that is said, with the
// file and what to do; later the connections go on with what the files held before.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';

import { createAuthority, type KeyPair } from '../../../test/pretend/certificates.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';
import { serverAddress } from './address.ts';
import { TlsFiles } from './files.ts';

const folder = tempDir('database-files');
const paths = Object.fromEntries(['sslrootcert', 'sslcert', 'sslkey'].map((name) => [name, join(folder, name)]));
let ca: string;
let pair: KeyPair;
let other: KeyPair;

before(async () => {
  const authority = await createAuthority('authority');
  ca = authority.certPem;
  [pair, other] = [await authority.issue({ commonName: 'one' }), await authority.issue({ commonName: 'other' })];
});

function write(texts: Readonly<Record<string, string | undefined>>): void {
  for (const [name, text] of Object.entries({ ...whole(pair), ...texts })) {
    if (text === undefined) rmSync(paths[name]!);
    else writeFileSync(paths[name]!, text);
  }
}

function whole({ certPem, keyPem }: KeyPair): Readonly<Record<string, string>> {
  return { sslrootcert: ca, sslcert: certPem, sslkey: keyPem };
}

/** What a renewal that is not finished leaves, and what is said of it. */
function unfinished(): readonly (readonly [Readonly<Record<string, string | undefined>>, RegExp])[] {
  return [
    [
      { sslrootcert: '' },
      /^the sslrootcert file .*\/sslrootcert of .* does not hold whole certificates in PEM: write it/,
    ],
    [{ sslrootcert: ca + ca.slice(0, 100) }, /sslrootcert file .* whole certificates/],
    [{ sslcert: '' }, /^the sslcert file .*\/sslcert of the index's database does not hold whole certificates in PEM/],
    [{ sslcert: pair.certPem.slice(0, -40) }, /sslcert file .* whole certificates/],
    [{ sslcert: pair.certPem.replace(/\nM.../, '\nAAAA') }, /sslcert file .* whole certificates/],
    [{ sslcert: undefined }, /sslcert file .* cannot be read: ENOENT/],
    [{ sslkey: '' }, /sslkey file .* does not hold a private key in PEM that is not encrypted: write it anew$/],
    [{ sslkey: pair.keyPem.slice(0, -40) }, /sslkey file .* does not hold a private key/],
    [{ sslkey: undefined }, /sslkey file .* cannot be read: ENOENT/],
    [{ sslkey: other.keyPem }, /sslkey file .* is not the key of the certificate in .*\/sslcert: put both of one pair/],
  ];
}

test('files of certificates that cannot be used are refused at the start, with the file and what to do', async () => {
  const query = new URLSearchParams({ sslmode: 'verify-full', ...paths }).toString();
  const url = `postgres://user@database.example/index?${query}`;
  write({});
  assert.equal((await serverAddress({ url })).name, 'database.example:5432/index as user');
  for (const [texts, message] of unfinished()) {
    write(texts);
    await assert.rejects(serverAddress({ url }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INDEX_UNAVAILABLE');
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /BEGIN|undefined/);
      return true;
    });
  }
});

test('while files are half written what they held before is used, and why is said until they are whole', async () => {
  write({});
  const files = await TlsFiles.open(paths);
  const first = await files.context();
  for (const [texts, message] of unfinished()) {
    write(texts);
    assert.equal(await files.context(), first);
    assert.match(files.fault!, message);
  }
  write(whole(other));
  assert.notEqual(await files.context(), first);
  assert.equal(files.fault, undefined);
});
