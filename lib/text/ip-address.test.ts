import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressBytes, ipv6Bytes, isWithin, parseRange, readingsOf } from './ip-address.ts';

test('IPv6 addresses are read in full, whatever their spelling', () => {
  assert.equal(ipv6Bytes('::1').toString('hex'), '00000000000000000000000000000001');
  assert.equal(ipv6Bytes('2001:db8::8a2e:370:7334').toString('hex'), '20010db80000000000008a2e03707334');
  assert.equal(ipv6Bytes('fe80::1%eth0').toString('hex'), 'fe800000000000000000000000000001');
  assert.equal(ipv6Bytes('::ffff:10.1.2.3').toString('hex'), '00000000000000000000ffff0a010203');
  assert.equal(ipv6Bytes('1:2:3:4:5:6:7:8').toString('hex'), '00010002000300040005000600070008');
});

test('what is no address has no bytes', () => {
  for (const text of ['', 'localhost', '127.1', '0x7f.0.0.1', '2130706433', '1.2.3.4.5', '::g', '[::1]', '010.0.0.1']) {
    assert.equal(addressBytes(text), undefined, text);
  }
});

test('ranges are read strictly', () => {
  for (const text of [
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.1.0.0/8',
    'fe80::1%e/64',
    'x/8',
    '::/129',
  ]) {
    assert.equal(parseRange(text), undefined, text);
  }
  assert.equal(parseRange('10.0.0.1')?.prefixLength, 32);
  assert.equal(parseRange('fd00::1')?.prefixLength, 128);
});

test('an address is in a range when the leading bits are the same, and of the same family', () => {
  const isIn = (address: string, range: string): boolean => isWithin(addressBytes(address)!, parseRange(range)!);
  assert.deepEqual(
    [
      isIn('10.255.0.1', '10.0.0.0/8'),
      isIn('11.0.0.1', '10.0.0.0/8'),
      isIn('172.31.255.255', '172.16.0.0/12'),
      isIn('172.32.0.0', '172.16.0.0/12'),
      isIn('1.2.3.4', '0.0.0.0/0'),
      isIn('febf::1', 'fe80::/10'),
      isIn('fec0::1', 'fe80::/10'),
      isIn('::1', '0.0.0.0/0'),
    ],
    [true, false, true, false, true, true, false, false],
  );
});

test('the IPv4 address in an IPv6 address is read, too', () => {
  const inner = (text: string): readonly string[] =>
    readingsOf(addressBytes(text)!).map((bytes) => bytes.toString('hex'));
  for (const text of ['::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::7f00:1'])
    assert.equal(inner(text)[1], '7f000001', text);
  assert.equal(inner('2002:a9fe:a9fe::1')[1], 'a9fea9fe');
  assert.equal(inner('2001:db8::1').length, 1);
});
