import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partialObject, project, wantedParts, withApiVersion } from './raw-json.ts';

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
