import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeAddressRule } from './address-rule.ts';
import { parseRange } from '../lib/text/ip-address.ts';

const plain = makeAddressRule({ allowed: [], refused: [] });

/** Each is this machine, its link, its metadata service, or nobody. */
const bad = [
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0.1.2.3',
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '224.0.0.1',
  '255.255.255.255',
  '240.0.0.1',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '::127.0.0.1',
  '64:ff9b::169.254.169.254',
  '2002:7f00:1::',
  'fe80::1',
  'fe80::1%eth0',
  'febf::1',
  'ff02::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fd00:42::42',
];

test('addresses of the machine, its link and metadata services are refused in every spelling (ATT-30)', () => {
  assert.deepEqual(
    bad.filter((address) => !plain.refuses(address) || !plain.refusesHost(address)),
    [],
  );
});

test('addresses of members are not: private and public ones, their neighbours in number (ATT-30)', () => {
  const good = [
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '100.100.100.201',
    '128.0.0.1',
    '169.253.255.255',
    '8.8.8.8',
    '1.0.0.1',
  ];
  const six = ['2001:db8::1', 'fd00::1', 'fd00:ec2::253', 'fec0::1', '64:ff9b::8.8.8.8', '::ffff:10.0.0.1'];
  assert.deepEqual(
    [...good, ...six].filter((address) => plain.refuses(address) || plain.refusesHost(address)),
    [],
  );
});

test('names that can only mean such an address are refused before they are resolved (ATT-30)', () => {
  const names = [
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'localhost.localdomain',
    'ip6-loopback',
    'metadata.google.internal',
    'metadata',
  ];
  const more = [
    'METADATA.google.internal.',
    'metadata.goog',
    'instance-data',
    'instance-data.ec2.internal',
    'instance-data.eu-west-1.compute.internal',
  ];
  assert.deepEqual(
    [...names, ...more].filter((name) => !plain.refusesHost(name)),
    [],
  );
  const members = [
    'api.example.com',
    'localhost.example.com',
    'metadata.example.com',
    'my-localhost',
    'kubernetes.default.svc',
  ];
  assert.deepEqual(
    members.filter((name) => plain.refusesHost(name)),
    [],
  );
});

test('what is no address is refused when it is about to be connected to', () => {
  assert.deepEqual(
    ['', 'localhost', '127.1', 'x'].map((text) => plain.refuses(text)),
    [true, true, true, true],
  );
});

test('the operator excepts ranges from the default, and refuses more; what is refused wins', () => {
  const range = (text: string) => parseRange(text)!;
  const rule = makeAddressRule({
    allowed: [range('127.0.0.0/8'), range('10.96.0.0/12')],
    refused: [range('10.96.0.0/12'), range('fd00:1::/32'), range('127.0.0.9')],
  });
  const asked = [
    '127.0.0.1',
    '::ffff:127.0.0.1',
    '127.0.0.9',
    '::1',
    '10.96.0.1',
    '::ffff:10.96.0.1',
    '10.112.0.1',
    'fd00:1::9',
  ];
  assert.deepEqual(
    asked.map((address) => rule.refuses(address)),
    [false, false, true, true, true, true, false, true],
  );
  assert.equal(rule.refusesHost('localhost'), false);
});
