import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { readCertificate } from './certificate.ts';
import { booleanOf, oidText, readElements, readOne, smallIntegerOf, stringOf } from './der.ts';
import { authority, makeCertificate, usedFor } from './certificates.fixture.ts';

const bytes = (hex: string) => Buffer.from(hex, 'hex');

test('values are split to the last byte', () => {
  assert.deepEqual(
    readElements(bytes('0101ff0500')).map(({ tag, content, whole }) => [tag, content.length, whole.length]),
    [
      [1, 1, 3],
      [5, 0, 2],
    ],
  );
  const long = Buffer.concat([bytes('048180'), Buffer.alloc(128)]);
  assert.equal(readOne(long, 4).content.length, 128);
  assert.equal(readOne(Buffer.concat([bytes('04820100'), Buffer.alloc(256)]), 4).content.length, 256);
});

describe('what is not DER', () => {
  const cases: readonly (readonly [title: string, hex: string])[] = [
    ['a value that is cut off', '0402ff'],
    ['a length that is cut off', '048201'],
    ['a missing length', '04'],
    ['an indefinite length', '3080020101020102000000'],
    ['a long form for a short length', '04817f'.padEnd(6 + 254, '0')],
    ['a padded length', `04820080${'00'.repeat(128)}`],
    ['a huge length', '0484ffffffff'],
    ['a tag of several bytes', '1f810100'],
  ];
  for (const [title, hex] of cases) test(title, () => assert.throws(() => readElements(bytes(hex)), /not valid DER/));
  test('a second value, or another tag, where one is due', () => {
    assert.throws(() => readOne(bytes('05000500'), 5), /unexpected/);
    assert.throws(() => readOne(bytes('0500'), 4), /unexpected/);
  });
});

test('object identifiers', () => {
  assert.equal(oidText(bytes('550403')), '2.5.4.3');
  assert.equal(oidText(bytes('2b0601040183c25302')), '1.3.6.1.4.1.57683.2');
  assert.equal(oidText(bytes('883703')), '2.999.3');
  for (const hex of ['', '5504ff', '55048003', '80']) assert.throws(() => oidText(bytes(hex)), /not valid DER/, hex);
  assert.throws(() => oidText(bytes('ff'.repeat(9) + '7f')), /too large/);
});

test('booleans and small integers have one form each', () => {
  assert.deepEqual([booleanOf(bytes('ff')), booleanOf(bytes('00'))], [true, false]);
  for (const hex of ['', '01', 'ffff']) assert.throws(() => booleanOf(bytes(hex)), /boolean/, hex);
  assert.deepEqual(
    [smallIntegerOf(bytes('00')), smallIntegerOf(bytes('0080')), smallIntegerOf(bytes('7f'))],
    [0, 128, 127],
  );
  for (const hex of ['', 'ff', '0001', '0100000000']) assert.throws(() => smallIntegerOf(bytes(hex)), /integer/, hex);
});

describe('strings are read as Go reads them', () => {
  const read = (tag: number, hex: string) => stringOf({ tag, content: bytes(hex), whole: bytes(hex) });
  test('in every kind that names use', () => {
    assert.equal(read(0x0c, 'c3bc'), 'ü');
    assert.equal(read(0x13, '6120622d'), 'a b-');
    assert.equal(read(0x14, 'fc'), 'ü');
    assert.equal(read(0x16, '6140'), 'a@');
    assert.equal(read(0x12, '3120'), '1 ');
    assert.equal(read(0x1e, '00fc65e5'), 'ü日');
  });
  const wrong: readonly (readonly [tag: number, hex: string])[] = [
    [0x0c, 'fc'],
    [0x13, '40'],
    [0x16, 'fc'],
    [0x12, '61'],
    [0x1e, '00fc65'],
    [0x1e, 'd800'],
    [0x1c, '000000fc'],
    [0x04, '61'],
  ];
  for (const [tag, hex] of wrong) {
    test(`and not ${hex} as tag ${tag}`, () => assert.throws(() => read(tag, hex)));
  }
});

test('a certificate with any byte changed is read or refused, and never passes for the original', async () => {
  const root = await makeCertificate({ subject: [{ CN: ['root'] }], extensions: authority(1) });
  const { der } = await makeCertificate({
    subject: [{ CN: ['dev'], O: ['a'] }, { O: ['b'] }],
    issuer: root,
    extensions: [usedFor(), ...authority(0)],
  });
  const issuer = readCertificate(root.der);
  const holds = (candidate: Uint8Array) => {
    try {
      return readCertificate(candidate).x509.verify(issuer.x509.publicKey);
    } catch (error) {
      assert.ok(error instanceof Error);
      return false;
    }
  };
  assert.ok(holds(der));
  fc.assert(
    fc.property(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), (index, change) => {
      const altered = Uint8Array.from(der);
      altered[index]! ^= change;
      assert.equal(holds(altered), false, `byte ${index} changed by ${change}`);
    }),
    { numRuns: 1_000 },
  );
});
