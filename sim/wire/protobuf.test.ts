// The bodies are what kubectl 1.32 sends, built here by hand from the field numbers of generated.proto.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtobuf } from './protobuf.ts';
import { loadKubernetesSpec } from '../schema/spec.ts';
import { simulate } from '../simulator.fixture.ts';

const { messages } = loadKubernetesSpec();

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    bytes.push(rest < 128 ? rest : (rest % 128) | 128);
    if (rest < 128) return Buffer.from(bytes);
  }
}
const number = (field: number, value: number): Buffer => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field: number, ...parts: (Buffer | string)[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
};
const envelope = (apiVersion: string, kind: string, ...raw: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), bytes(1, bytes(1, apiVersion), bytes(2, kind)), bytes(2, ...raw)]);

test('a Secret: maps, base64, zero values dropped', () => {
  const body = envelope(
    'v1',
    'Secret',
    bytes(1, bytes(1, 's'), bytes(2, ''), bytes(3, ''), number(7, 0), bytes(8)),
    bytes(2, bytes(1, 'a'), bytes(2, 'b')),
    bytes(2, bytes(1, 'empty')),
    bytes(3, 'Opaque'),
  );
  assert.deepEqual(decodeProtobuf(messages, body), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    data: { a: 'Yg==', empty: '' },
    type: 'Opaque',
  });
});

test('a Pod: embedded structs are no level of their own, pointers keep their zero', () => {
  const probe = bytes(
    10,
    bytes(1, bytes(2, bytes(1, '/live'), bytes(2, number(1, 0), number(2, 8080)))),
    number(2, 0),
    number(3, 5),
  );
  const limits = bytes(8, bytes(1, bytes(1, 'cpu'), bytes(2, bytes(1, '100m'))));
  const container = bytes(2, bytes(1, 'c'), bytes(2, 'nginx'), limits, probe, number(18, 0));
  const volume = bytes(1, bytes(1, 'v'), bytes(2, bytes(2)));
  const body = envelope('v1', 'Pod', bytes(1, bytes(1, 'p')), bytes(2, volume, container, number(4, 0)));
  assert.deepEqual(decodeProtobuf(messages, body), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: {
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        {
          name: 'c',
          image: 'nginx',
          resources: { limits: { cpu: '100m' } },
          livenessProbe: { httpGet: { path: '/live', port: 8080 }, timeoutSeconds: 5 },
        },
      ],
      terminationGracePeriodSeconds: 0,
    },
  });
});

test('times, negative numbers, lists of texts', () => {
  const seconds = Date.parse('2026-01-02T03:04:05Z') / 1000;
  const body = envelope(
    'coordination.k8s.io/v1',
    'Lease',
    bytes(1, bytes(1, 'l'), bytes(8, number(1, seconds), number(2, 0))),
    bytes(2, bytes(1, 'me'), bytes(3, number(1, seconds), number(2, 123_456_000))),
  );
  assert.deepEqual(decodeProtobuf(messages, body), {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'l', creationTimestamp: '2026-01-02T03:04:05Z' },
    spec: { holderIdentity: 'me', acquireTime: '2026-01-02T03:04:05.123456Z' },
  });
  const priority = envelope(
    'v1',
    'Pod',
    bytes(2, Buffer.concat([varint(25 << 3), Buffer.from('ffffffffffffffffff01', 'hex')])),
  );
  assert.deepEqual(decodeProtobuf(messages, priority), { apiVersion: 'v1', kind: 'Pod', spec: { priority: -1 } });
});

test('DeleteOptions come under any version', () => {
  const body = envelope('apps/v1', 'DeleteOptions', number(1, 0), bytes(4, 'Background'));
  assert.deepEqual(decodeProtobuf(messages, body), {
    apiVersion: 'apps/v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 0,
    propagationPolicy: 'Background',
  });
});

test('what is no protobuf, cut short or unknown', () => {
  assert.throws(() => decodeProtobuf(messages, Buffer.from('{}')), { code: 400 });
  const whole = envelope('v1', 'Secret', bytes(1, bytes(1, 's')));
  assert.throws(() => decodeProtobuf(messages, whole.subarray(0, whole.length - 1)), { code: 400 });
  assert.equal(decodeProtobuf(messages, envelope('v1', 'Nothing')), undefined);
});

test('a request with a protobuf body is served', async (t) => {
  const { ask } = await simulate(t);
  const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' };
  const body = envelope('v1', 'Namespace', bytes(1, bytes(1, 'n')));
  const made = await ask('/api/v1/namespaces', { method: 'POST', body, headers });
  assert.deepEqual([made.status, made.json.metadata.name], [201, 'n']);
  assert.equal(
    (await ask('/api/v1/namespaces', { method: 'POST', body: envelope('v1', 'Nothing'), headers })).status,
    415,
  );
});
