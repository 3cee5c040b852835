import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  metadataAlone,
  partialObject,
  piecesOf,
  project,
  textAt,
  wantedParts,
  withAnnotation,
  withApiVersion,
  withoutAnnotations,
  withResourceVersion,
} from './raw-json.ts';

const object = Buffer.from(
  String.raw`{ "kind":"Pod","spec":{"2":1.0,"1":9007199254740993,"apiVersion":"x","list":[{"a":1e2,"b":[]},{"a":"\u003c"}]},"apiVersion":"v1","metadata":{"name":"p","labels":{"__proto__":"\u003c"}, "uid":"u"}}`,
);
const keys = (...path: string[]) => path.map((key) => ({ kind: 'key' as const, key }));

test('another version changes the top apiVersion and no other byte', () => {
  assert.equal(
    withApiVersion(object, 'g/v2').toString(),
    object.toString().replace('"apiVersion":"v1"', '"apiVersion":"g/v2"'),
  );
});

test('metadata alone is the very bytes of the metadata', () => {
  assert.equal(
    partialObject(object).toString(),
    String.raw`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"p","labels":{"__proto__":"\u003c"}, "uid":"u"}}`,
  );
});

test('without a form, metadata alone keeps kind and version, in the very bytes', () => {
  assert.equal(
    metadataAlone(object).toString(),
    String.raw`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"__proto__":"\u003c"}, "uid":"u"}}`,
  );
  assert.equal(metadataAlone(Buffer.from('{"kind":"Pod"}')).toString(), '{"kind":"Pod"}');
});

test('an annotation is added to those there are, in place of one of its name, and nothing else is touched', () => {
  const annotated = Buffer.from(
    String.raw`{"a":1.0,"metadata":{"annotations":{ "x":"\u003c","e":"forged" , "y":""},"n":1},"b":"{"}`,
  );
  assert.equal(
    withAnnotation(annotated, 'e', '["\n"]').toString(),
    String.raw`{"a":1.0,"metadata":{"annotations":{"x":"\u003c","y":"","e":"[\"\n\"]"},"n":1},"b":"{"}`,
  );
  assert.equal(
    withAnnotation(Buffer.from('{"metadata":{"annotations":{}}}'), 'e', '').toString(),
    '{"metadata":{"annotations":{"e":""}}}',
  );
  assert.equal(withAnnotation(Buffer.from('{"metadata":{}}'), 'e', '').toString(), '{"metadata":{}}');
  assert.equal(textAt(annotated, ['metadata', 'annotations', 'x']), '<');
  for (const path of [['metadata'], ['metadata', 'n'], ['b', 'c'], ['none']])
    assert.equal(textAt(annotated, path), undefined);
});

test('a projection holds what was asked for in its own bytes, what identifies the object, and nothing else', () => {
  const wanted = wantedParts([
    keys('spec', '2'),
    keys('metadata', 'labels', '__proto__'),
    [...keys('spec', 'list'), { kind: 'each' }, ...keys('a')],
    keys('no', 'such'),
  ]);
  assert.equal(
    project(object, wanted).toString(),
    String.raw`{"kind":"Pod","spec":{"2":1.0,"list":[{"a":1e2},{"a":"\u003c"}]},"apiVersion":"v1","metadata":{"name":"p","labels":{"__proto__":"\u003c"},"uid":"u"}}`,
  );
  const second = wantedParts([[...keys('spec', 'list'), { kind: 'index', index: 1 }]]);
  assert.match(project(object, second).toString(), /"spec":\{"list":\[\{"a":"\\u003c"\}\]\}/);
});

test('items that stand behind each other with commas between are one piece of the same memory, others get commas of their own', () => {
  const memory = new TextEncoder().encode(',{"a":1},{"b":2} {"c":3},{"d":4}');
  const at = (start: number): Uint8Array => memory.subarray(start, start + 7);
  const text = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString();
  const [a, b, c, d] = [at(1), at(9), at(17), at(25)] as const;
  const other = Buffer.from('{"e":5}');
  const neighbours = piecesOf([a, b], true);
  assert.equal(neighbours.length, 1);
  assert.equal(neighbours[0]!.buffer, memory.buffer);
  assert.equal(text(neighbours), '{"a":1},{"b":2}');
  const later = piecesOf([a, b], false);
  assert.equal(later.length, 1);
  assert.equal(text(later), ',{"a":1},{"b":2}');
  for (const items of [[a, b, c, d], [b, a], [a, c], [d, other, a], [other, other], [a, a], [c], []]) {
    const list = items.map((item) => Buffer.from(item).toString()).join();
    assert.equal(text(piecesOf(items, true)), list);
    assert.equal(text(piecesOf(items, false)), items.length === 0 ? '' : `,${list}`);
  }
});

test('annotations are taken out and a resourceVersion is replaced, and every other byte stays', () => {
  const object = String.raw`{"metadata": {"annotations":{"a":"1" , "b":"\u003c","c":"3"},"resourceVersion":"x"},"n":1e400}`;
  const without = (...names: string[]): string => withoutAnnotations(Buffer.from(object), names).toString();
  assert.equal(
    without('a', 'c'),
    String.raw`{"metadata": {"annotations":{"b":"\u003c"},"resourceVersion":"x"},"n":1e400}`,
  );
  assert.equal(without('a', 'b', 'c'), '{"metadata": {"annotations":{},"resourceVersion":"x"},"n":1e400}');
  assert.equal(JSON.stringify(Object.keys(JSON.parse(without('none')).metadata.annotations)), '["a","b","c"]');
  for (const other of ['{}', '{"metadata":7}', '{"metadata":{"annotations":null}}', '{"metadata":{"annotations":"a"}}'])
    assert.equal(withoutAnnotations(Buffer.from(other), ['a']).toString(), other);
  assert.equal(withResourceVersion(Buffer.from(object), '7').toString(), object.replace('"x"', '"7"'));
  assert.equal(withResourceVersion(Buffer.from('{"metadata":{}}'), '7').toString(), '{"metadata":{}}');
});
