import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStatus, statusOf } from './status.ts';

const nothing = { isStatus: false, code: 0, reason: '', message: '', details: {} };
const read = (text: string): unknown => readStatus(Buffer.from(text));

test('a Status is read with what decides and what people are told', () => {
  const details = { name: 'web', kind: 'pods', retryAfterSeconds: 1 };
  const status = { kind: 'Status', apiVersion: 'v1', code: 404, reason: 'NotFound', message: 'pods "web" …', details };
  const { kind: _, apiVersion: __, ...fields } = status;
  assert.deepEqual(read(JSON.stringify(status)), { isStatus: true, ...fields });
  assert.deepEqual(statusOf(status), { isStatus: true, ...fields });
});

test('a body that is no Status is an empty one, and never an error', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const html = '<html><body>502 Bad Gateway</body></html>';
  for (const text of ['', ' ', html, '404 page not found', '{', 'null', '[]', '"x"', '0', '1e999', 'true', deep])
    assert.deepEqual(read(text), nothing, text.slice(0, 40));
  assert.deepEqual(readStatus(Buffer.from([0xff, 0xfe, 0x00, 0x7b])), nothing);
  assert.deepEqual(read('[{"kind":"Status","code":404,"message":"no"}]'), nothing);
  assert.deepEqual(read('{"kind":"Status","code":1e999}'), nothing);
  assert.deepEqual(statusOf(undefined), nothing);
});

test('fields of a Status that have another type than they should are left out', () => {
  const wrong = '{"kind":"Status","code":"404","reason":["a"],"message":404,"details":[1]}';
  assert.deepEqual(read(wrong), { ...nothing, isStatus: true });
  assert.deepEqual(read('{"kind":"Status","code":90071992547409930,"message":null,"reason":{}}'), {
    ...nothing,
    isStatus: true,
  });
  assert.deepEqual(read('{"__proto__":{"kind":"Status","message":"no"}}'), nothing);
});

test('only the message counts of a proxy that answers with JSON of its own', () => {
  const text = '{"kind":"Error","code":404,"reason":"NotFound","message":"no route","details":{"name":"web"}}';
  assert.deepEqual(read(text), { ...nothing, message: 'no route' });
});
