import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasMoreValues, parseLimited } from './value-count.ts';

/** The values of a JSON document, each key of an object with its value as one. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, each) => sum + valuesIn(each), 1);
}

/** A random JSON value whose texts hold brackets, commas, quotes and backslashes. */
function randomValue(random: () => number, depth: number): unknown {
  const text = Array.from({ length: random() * 6 }, () => ',[]{}":\\a\n'[Math.floor(random() * 10)]).join('');
  const kind = Math.floor(random() * (depth > 0 ? 6 : 4));
  if (kind < 4) return [text, 1.5e3, null, true][kind];
  const values = Array.from({ length: 1 + random() * 4 }, () => randomValue(random, depth - 1));
  return kind === 4 ? values : Object.fromEntries(values.map((value, index) => [`${text}${index}`, value]));
}

/** The same numbers in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('no text hides values or adds any: the limit lies between the values of a document and twice as many', () => {
  const random = seeded(20261129);
  for (let round = 0; round < 5_000; round += 1) {
    const value = [randomValue(random, 4), randomValue(random, 4)];
    const json = Buffer.from(JSON.stringify(value, null, Math.floor(random() * 3)));
    const count = valuesIn(value);
    assert.equal(hasMoreValues(json, 2 * count), false, json.toString());
    assert.equal(hasMoreValues(json, count - 2), true, json.toString());
  }
});

test('a document with too many small objects is refused before it is parsed, and quotes nothing', () => {
  const objects = (count: number): Buffer => Buffer.from(`{"x":[${'{},'.repeat(count - 1)}{}]}`);
  assert.equal((parseLimited(objects(999), 2_000) as { x: unknown[] }).x.length, 999);
  assert.throws(() => parseLimited(objects(1_000), 2_000), /^Error: JSON with more than 2000 values$/);
  assert.throws(() => parseLimited(Buffer.from('{"secret":')), /^Error: text that is not JSON$/);
});

test('a long text counts as one value, whatever it holds', () => {
  const text = JSON.stringify({ data: ',[{"\\'.repeat(100_000) });
  assert.deepEqual(parseLimited(Buffer.from(text), 10), JSON.parse(text));
});

test('what a kube-apiserver can store is never refused: 1.5 MB of the smallest values', () => {
  const json = Buffer.from(`[${'0,'.repeat(750_000)}0]`);
  assert.equal((parseLimited(json) as unknown[]).length, 750_001);
});
