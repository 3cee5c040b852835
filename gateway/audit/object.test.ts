import assert from 'node:assert/strict';
import test from 'node:test';
import { bodyMetadataReader } from './object.ts';
import type { BodyMetadata } from '../../request/audit-trail.ts';

const json = 'application/json';
const protobuf = 'application/vnd.kubernetes.protobuf';

/** What is read of a body that comes in pieces of this many bytes. */
function read(contentType: string | undefined, body: Buffer, pieceBytes = body.length): BodyMetadata {
  const reader = bodyMetadataReader(contentType)!;
  for (let at = 0; at < body.length; at += pieceBytes) reader.feed(body.subarray(at, at + pieceBytes));
  return reader.found();
}

const object = {
  apiVersion: 'v1',
  data: { metadata: '{"name":"wrong"}', name: 'wrong', deep: [{ metadata: { name: 'wrong' } }] },
  kind: 'ConfigMap',
  metadata: {
    annotations: { name: 'wrong', 'a"b\\': '}' },
    generateName: 'x-',
    labels: [{ uid: 'wrong' }],
    name: 'grüße "x"',
    namespace: 'default',
    ownerReferences: [{ name: 'wrong', uid: 'wrong' }],
    resourceVersion: '42',
    uid: 'u-1',
  },
  name: 'wrong',
};
const expected = { name: 'grüße "x"', namespace: 'default', resourceVersion: '42', uid: 'u-1' };

test('the name, namespace, uid and version of an object are found in JSON, in whatever pieces it comes', () => {
  for (const text of [JSON.stringify(object), JSON.stringify(object, undefined, 2), `  ${JSON.stringify(object)}`]) {
    const body = Buffer.from(text);
    for (const pieceBytes of [1, 2, 3, 7, 64, body.length]) assert.deepEqual(read(json, body, pieceBytes), expected);
  }
  assert.deepEqual(read(`${json}; charset=utf-8`, Buffer.from(JSON.stringify(object))), expected);
  assert.deepEqual(read(undefined, Buffer.from(JSON.stringify(object))), expected);
});

test('what is no object with metadata says nothing', () => {
  for (const text of [
    '',
    'null',
    '[]',
    '"metadata"',
    '[{"metadata":{"name":"x"}}]',
    '{}',
    '{"metadata":"name"}',
    '{"metadata":["name","x"]}',
    '{"metadata":{"name":{"name":"x"}}}',
    '{"metadata":{"name":5,"uid":null}}',
    '{"spec":{"metadata":{"name":"x"}}}',
    '{"spec":{"a":[{"metadata":{"name":"x"}}]},"kind":"metadata"}',
    'metadata:\n  name: x\n',
    '{"metadata":{"name":"' + 'x'.repeat(2000) + '"}}',
    '}}}}',
  ]) {
    assert.deepEqual(read(json, Buffer.from(text)), {}, text.slice(0, 60));
  }
});

test('a body in YAML or CBOR is not read', () => {
  for (const type of ['application/yaml', 'application/cbor', 'application/octet-stream']) {
    assert.equal(bodyMetadataReader(type), undefined);
  }
});

/** One length-delimited protobuf field. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  const length: number[] = [];
  for (let rest = bytes.length; ; rest = Math.floor(rest / 128)) {
    length.push(rest < 128 ? rest : (rest % 128) + 128);
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes]);
}

const metadata = Buffer.concat([
  field(1, 'web'),
  field(3, 'default'),
  field(5, 'u-1'),
  field(6, '42'),
  Buffer.from([7 * 8, 1]),
  field(11, 'x'.repeat(300)),
]);
const pod = Buffer.concat([field(1, metadata), field(2, 'y'.repeat(100_000))]);
const unknown = Buffer.concat([Buffer.from('k8s\0', 'latin1'), field(1, field(1, 'v1')), field(2, pod), field(3, '')]);

test('they are found in the protobuf form that Go clients send', () => {
  const found = { name: 'web', namespace: 'default', uid: 'u-1', resourceVersion: '42' };
  for (const pieceBytes of [1, 13, 5000, unknown.length]) assert.deepEqual(read(protobuf, unknown, pieceBytes), found);
});

test('protobuf that ends anywhere or is none leaves what was whole', () => {
  for (let end = 0; end < 60; end++) {
    const found = read(protobuf, unknown.subarray(0, end));
    for (const [key, value] of Object.entries(found))
      assert.equal(value, { name: 'web', namespace: 'default', uid: 'u-1', resourceVersion: '42' }[key]);
  }
  assert.deepEqual(read(protobuf, Buffer.from('{"metadata":{"name":"x"}}')), {});
  assert.deepEqual(read(protobuf, Buffer.concat([Buffer.from('k8s\0', 'latin1'), Buffer.alloc(50, 0xff)])), {});
});
