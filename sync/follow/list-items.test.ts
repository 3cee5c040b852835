import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as fc from 'fast-check';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { readListItems, type ListHead } from './list-items.ts';

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string, size = 7): Promise<{ items: string[]; head: ListHead }> {
  const list = readListItems(pieces(Buffer.from(text), size));
  const items: string[] = [];
  for (;;) {
    const next = await list.next();
    if (next.done === true) return { items, head: next.value };
    items.push(next.value.toString('utf8'));
  }
}

it('items come out as the bytes they were, wherever the chunks were cut and whatever they hold', async () => {
  const item = fc
    .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
    .map((value) => JSON.stringify(value));
  await fc.assert(
    fc.asyncProperty(
      fc.array(item, { maxLength: 6 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 40 }),
      async (items, isLast, size) => {
        const metadata = '"metadata":{"items":[{}],"resourceVersion":"12","continue":"a\\"]}","remainingItemCount":7}';
        const list = `"items" : [${items.join(' ,\n')} ]`;
        const { items: found, head } = await read(
          `{"kind":"items",${isLast ? `${metadata},${list}` : `${list},${metadata}`}}\n`,
          size,
        );
        assert.deepEqual(found, items);
        const { resourceVersion, continueToken, remaining, kind } = head;
        assert.deepEqual([resourceVersion, continueToken, remaining, kind], ['12', 'a"]}', 7, 'items']);
      },
    ),
    { numRuns: 100 },
  );
});

it('a list without items is whole, however Go writes it', async () => {
  for (const items of ['[]', 'null']) {
    const { items: found, head } = await read(`{"metadata":{"resourceVersion":"1"},"items":${items}}`);
    assert.deepEqual([found, head.resourceVersion, head.continueToken], [[], '1', '']);
  }
});

for (const [what, text] of [
  ['cut in an item', '{"metadata":{"resourceVersion":"1"},"items":[{"a":1},{"b"'],
  ['cut after the items', '{"metadata":{"resourceVersion":"1"},"items":[{"a":1}'],
  ['without resourceVersion', '{"metadata":{},"items":[]}'],
  ['with items that are no objects', '{"metadata":{"resourceVersion":"1"},"items":[1]}'],
  ['with text for items', '{"metadata":{"resourceVersion":"1"},"items":["a"]}'],
  ['with two commas', '{"metadata":{"resourceVersion":"1"},"items":[{},,{}]}'],
  ['with more behind it', '{"metadata":{"resourceVersion":"1"},"items":[]}}'],
  ['of something else', '<html></html>'],
] as const) {
  it(`a list ${what} is refused`, async () => {
    await assert.rejects(read(text), MalformedAnswer);
  });
}

it('an item or a head without end is given up', async () => {
  const mebibyte = 'x'.repeat(1024 * 1024);
  await assert.rejects(read(`{"items":[{"a":"${mebibyte.repeat(33)}`, 65_536), /an item is longer than 33554432 bytes/);
  await assert.rejects(read(`{"metadata":{"a":"${mebibyte.repeat(2)}`, 65_536), /a field is longer than 1048576 bytes/);
});
