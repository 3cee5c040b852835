import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPage, readWatchLine } from './events.ts';

test('numbers of hub objects keep all their digits, also when they are written again', () => {
  const spec = '{"id":9007199254740993,"least":-9223372036854775808,"list":[18446744073709551615],"small":1.5}';
  const object = `{"apiVersion":"v1","kind":"X","metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":${spec}}`;
  const page = readPage(Buffer.from(`{"kind":"XList","metadata":{"resourceVersion":"1"},"items":[${object}]}`));
  const event = readWatchLine(Buffer.from(`{"type":"ADDED","object":${object}}`));
  assert.equal(event.type, 'ADDED');
  for (const read of [page.items[0], 'object' in event ? event.object : undefined])
    assert.equal(JSON.stringify((read as unknown as { spec: object }).spec), spec);
});

test('an event with millions of values is refused before it is parsed (ATT-67)', () => {
  const line = Buffer.from(`{"type":"ADDED","object":{"spec":[${'{},'.repeat(1_000_000)}{}]}}`);
  assert.throws(() => readWatchLine(line), /JSON with more than 2000000 values/);
});
