import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import {
  bundleCovers,
  leafLifeMs,
  readMaterial,
  renewed,
  splitBundle,
  trustBundle,
  writeMaterial,
} from './serving-material.ts';

const startMs = Date.UTC(2026, 0, 1);
const dayMs = 24 * 60 * 60 * 1000;
const names = ['portcullis.portcullis.svc', 'portcullis', '10.0.0.1'];

test('nothing in the Secret makes a CA and a leaf for the names asked for', async () => {
  const made = (await renewed(undefined, names, startMs))!;
  const leaf = new X509Certificate(made.leaf.cert);
  assert.ok(leaf.verify(new X509Certificate(made.authority.cert).publicKey));
  assert.equal(leaf.checkHost('portcullis.portcullis.svc'), 'portcullis.portcullis.svc');
  assert.equal(leaf.checkIP('10.0.0.1'), '10.0.0.1');
  assert.equal(await renewed(made, names, startMs + 59 * dayMs), undefined);
});

test('a Secret written and read back is the same material', async () => {
  const made = { ...(await renewed(undefined, names, startMs))!, nextAuthority: undefined };
  assert.deepEqual(readMaterial(writeMaterial(made)), made);
});

test('the leaf is renewed by the same CA after two thirds of its life', async () => {
  const made = (await renewed(undefined, names, startMs))!;
  const next = (await renewed(made, names, startMs + (leafLifeMs * 2) / 3))!;
  assert.notEqual(next.leaf.cert, made.leaf.cert);
  assert.equal(next.authority.cert, made.authority.cert);
});

test('a leaf that lacks a name of ours is replaced by one for the old and the new names', async () => {
  const made = (await renewed(undefined, ['old.example.com'], startMs))!;
  const next = (await renewed(made, ['new.example.com'], startMs + dayMs))!;
  const leaf = new X509Certificate(next.leaf.cert);
  assert.ok(leaf.checkHost('old.example.com') !== undefined && leaf.checkHost('new.example.com') !== undefined);
  assert.equal(
    await renewed(next, ['old.example.com'], startMs + dayMs),
    undefined,
    'an old replica is content with it',
  );
});

test('a new CA is trusted for a whole leaf life before it signs, and the old one after', async () => {
  const made = (await renewed(undefined, names, startMs))!;
  // Leaves follow each other until the CA is past two thirds of its ten years.
  let nowMs = startMs + 3650 * dayMs * 0.67;
  const fresh = (await renewed(made, names, nowMs))!;
  assert.equal(fresh.nextAuthority, undefined, 'the leaf comes first');
  nowMs += dayMs;
  const announced = (await renewed(fresh, names, nowMs))!;
  assert.equal(announced.leaf.cert, fresh.leaf.cert, 'the leaf stays');
  assert.ok(announced.nextAuthority !== undefined);
  assert.equal(splitBundle(trustBundle(announced)).length, 2);
  assert.deepEqual(readMaterial(writeMaterial(announced)), announced);
  assert.equal(await renewed(announced, names, nowMs), undefined);
  nowMs += (leafLifeMs * 2) / 3;
  const promoted = (await renewed(announced, names, nowMs))!;
  assert.equal(promoted.authority.cert, announced.nextAuthority.cert);
  assert.ok(new X509Certificate(promoted.leaf.cert).verify(new X509Certificate(promoted.authority.cert).publicKey));
  assert.ok(
    bundleCovers(trustBundle(promoted), made.authority.cert),
    'replicas that still show the old leaf are trusted',
  );
  assert.deepEqual(readMaterial(writeMaterial(promoted)), promoted);
});

test('a Secret with a foreign key, a broken PEM or another CA is not used', async () => {
  const one = writeMaterial((await renewed(undefined, names, startMs))!);
  const other = writeMaterial((await renewed(undefined, names, startMs))!);
  assert.equal(readMaterial(undefined), undefined);
  assert.equal(readMaterial({}), undefined);
  assert.equal(readMaterial({ ...one, 'tls.key': other['tls.key']! }), undefined);
  assert.equal(readMaterial({ ...one, 'ca.key': other['ca.key']! }), undefined);
  assert.equal(readMaterial({ ...one, 'ca.crt': other['ca.crt']!, 'ca.key': other['ca.key']! }), undefined);
  assert.equal(readMaterial({ ...one, 'tls.crt': 'AAAA' }), undefined);
});
