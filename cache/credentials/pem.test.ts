import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { testKeyPair } from '../../test/pretend/certificates.ts';
import { readAuthorities, readKeyPair } from './pem.ts';

const refusal = (reason: RegExp) => (error: unknown) =>
  error instanceof GatewayError && error.code === 'CLUSTER_UNUSABLE' && reason.test(error.message);

test('a bundle keeps its certificates and loses what is around them', async () => {
  const [one, two] = [await testKeyPair('one'), await testKeyPair('two')];
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';
  const bundle = readAuthorities('ca', `# comment\n${one.cert}\n${one.key}\n${broken}\r\n${two.cert}`);
  assert.equal(bundle, `${one.cert.trim()}\n${two.cert.trim()}\n`);
});

test('a bundle without a certificate is refused, never taken for the system roots', async () => {
  const { key } = await testKeyPair('x');
  for (const text of ['', 'text', key, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----']) {
    assert.throws(() => readAuthorities('the ca', text), refusal(/^the ca holds no valid PEM certificate$/));
  }
});

test('a certificate comes with its own key or not at all, and the error shows neither', async () => {
  const [one, two] = [await testKeyPair('one'), await testKeyPair('two')];
  const pair = readKeyPair('u', one.cert, one.key);
  assert.deepEqual([pair.cert, pair.key], [one.cert, one.key]);
  assert.ok(Math.abs(pair.expiresAtMs - Date.now() - 3_600_000) < 60_000, 'the notAfter of the leaf');
  assert.throws(() => readKeyPair('u', one.cert, two.key), refusal(/^u: the key belongs to another certificate$/));
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  assert.throws(() => readKeyPair('u', one.cert, String(rsa)), refusal(/belongs to another certificate/));
  assert.throws(() => readKeyPair('u', 'junk', one.key), refusal(/certificate is not valid PEM/));
  assert.throws(() => readKeyPair('u', one.cert, one.cert), refusal(/key is not a PEM private key/));
  const cut = one.key.replace(/\n.{40}/, '\n');
  assert.throws(() => readKeyPair('u', one.cert, cut), refusal(/cannot be used/));
  const encrypted = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  });
  assert.throws(() => readKeyPair('u', one.cert, String(encrypted)), refusal(/cannot be used/));
});

test('one file may be certificate and key, in either order and with text around them, as a kubelet keeps its own', async () => {
  const { cert, key } = await testKeyPair('one');
  const [certificate, secret] = [`${cert.trim()}\n`, `Bag Attributes\n  friendlyName: x\n${key.trim()}\n`];
  for (const both of [certificate + secret, secret + certificate, (certificate + secret).replaceAll('\n', '\r\n')])
    assert.ok(readKeyPair('u', both, both).expiresAtMs > Date.now());
});

test('a certificate that was encoded twice is refused (kubernetes/kubectl#1023)', async () => {
  const { cert } = await testKeyPair('one');
  const once = Buffer.from(cert).toString('base64');
  assert.throws(() => readAuthorities('the ca', once), refusal(/^the ca holds no valid PEM certificate$/));
});

test('a text of nothing but beginnings of certificates is refused in one pass (ATT-29)', () => {
  const beginnings = '-----BEGIN CERTIFICATE-----\n'.repeat(40_000);
  assert.throws(() => readAuthorities('the bundle', beginnings), { code: 'CLUSTER_UNUSABLE' });
});
