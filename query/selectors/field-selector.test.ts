import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { parseFieldSelector, type FieldSelector } from './field-selector.ts';
import type { PathStep } from '../../lib/json/raw-json.ts';
import { parsePath, printPath } from '../path.ts';

const isRefused = (error: unknown): boolean => error instanceof GatewayError && error.code === 'BAD_REQUEST';
const keys = (path: string): unknown =>
  parsePath(path).map((step) => (step.kind === 'key' ? step.key : step.kind === 'index' ? step.index : '[]'));

/** Prints a selector as the client wrote it, but with the values of `in` and `notin` sorted as Clusterpedia does. */
function printed(selector: FieldSelector): string {
  const texts = selector.map(({ written: { key, operator, values } }) => {
    if (operator === 'exists') return key;
    if (operator === '!') return `!${key}`;
    if (operator === 'in' || operator === 'notin') return `${key} ${operator} (${values.toSorted().join(',')})`;
    return `${key}${operator}${values[0]}`;
  });
  return texts.join(',');
}

test('values keep their order and doubles, and print sorted (CP-106)', () => {
  const selector = parseFieldSelector('k in (b,a,b)');
  assert.equal(printed(selector), 'k in (a,b,b)');
  assert.deepEqual(selector[0]!.requirement.values, ['b', 'a', 'b']);
});

test('paths that are read (CP-107 to CP-115)', () => {
  assert.deepEqual(keys('metadata.name'), ['metadata', 'name']);
  assert.deepEqual(keys('.metadata.name'), ['metadata', 'name']);
  assert.deepEqual(keys(".metadata.annotations.'test.io'"), ['metadata', 'annotations', 'test.io']);
  assert.deepEqual(keys(".metadata.annotations['test.io']"), ['metadata', 'annotations', 'test.io']);
  assert.deepEqual(keys('.metadata.annotations["a\'b"]'), ['metadata', 'annotations', "a'b"]);
  assert.deepEqual(keys(".field1['prefix.field2'].field3"), ['field1', 'prefix.field2', 'field3']);
  assert.deepEqual(keys(".field1['prefix.field2']['prefix.field3']"), ['field1', 'prefix.field2', 'prefix.field3']);
  assert.deepEqual(keys('.spec.containers[].name'), ['spec', 'containers', '[]', 'name']);
  assert.deepEqual(keys('.spec.containers[0].name'), ['spec', 'containers', 0, 'name']);
  assert.deepEqual(keys(".field1['prefix.listed'][0].field2"), ['field1', 'prefix.listed', 0, 'field2']);
});

test('paths that are refused (CP-116 to CP-119)', () => {
  const wrong = ['[]', '[0]', '.metadata.annotations[test.io]', ".metadata.annotations['test.io'.go]"];
  for (const path of [...wrong, '', '.', 'a.', 'a..b', "a['b", 'a[-1]', 'a[1', '_a', "a'b'", 'a[]b', 'é'])
    assert.throws(() => parsePath(path), isRefused, path);
  assert.throws(() => parsePath(Array(33).fill('a').join('.')), isRefused);
  assert.throws(() => parsePath('a'.repeat(3000)), isRefused);
});

test('selectors print back as they were written, requirements in order (CP-120 to CP-126)', () => {
  for (const selector of [
    '',
    ".metadata.annotations['test.io'] in (value1,value2),.spec.replica=3",
    "metadata.annotations.'test.io'==value1",
    "!metadata.annotation['test.io']",
    'spec.containers[].name!=container1',
    '.spec.containers[].name==container1',
    '.spec.containers[1].name in (container1,container2)',
    "metadata.annotations['a=b, c)'] notin (x,x),a>5,b<2024-01-01T00:00:00Z,c",
    'a=x\\,y\\=z',
  ])
    assert.equal(printed(parseFieldSelector(selector)), selector);
});

test('selectors that are refused (CP-127 to CP-129)', () => {
  for (const selector of [
    '.metadata.annotations[test.io] in (value1, value2)',
    ".metadata.annotations['test'io'] in (value1, value2)",
    'spec.containers[]==something',
    'spec.containers[0]',
    'a b',
    'a,,b',
    'a in (b',
    'a>high',
    'a<',
    ',',
  ])
    assert.throws(() => parseFieldSelector(selector), isRefused, selector);
});

test('a key in brackets and quotes may stand first, and behind a dot', () => {
  for (const path of ["['metadata']['name']", ".['metadata'].['name']", 'metadata.["name"]', "['metadata'].name"])
    assert.equal(printPath(parsePath(path)), 'metadata.name', path);
  assert.equal(printPath(parsePath('spec.containers.[0].name')), 'spec.containers[0].name');
  for (const path of ["a..['b']", "['a'].", '[0].a', '.[].a', "['a'"])
    assert.throws(() => parsePath(path), isRefused, path);
});

test('what selectors mean (CP-026 to CP-033)', () => {
  const [one, two] = parseFieldSelector("field1.field11['field12.io'] notin (value2, value1),a=x\\,y\\\\z");
  assert.deepEqual(one!.requirement, {
    path: [
      { kind: 'key', key: 'field1' },
      { kind: 'key', key: 'field11' },
      { kind: 'key', key: 'field12.io' },
    ],
    operator: 'NotIn',
    values: ['value2', 'value1'],
  });
  assert.deepEqual(two!.requirement.values, ['x,y\\z']);
  const operators = parseFieldSelector('a=,b==1,c!=1,d,!e,f>1,g<1Gi').map(({ requirement }) => requirement.operator);
  assert.deepEqual(operators, ['Equals', 'Equals', 'NotEquals', 'Exists', 'DoesNotExist', 'Gt', 'Lt']);
});

test('every path is read back from its print', () => {
  const keys = ['a', 'b.c', "'", '\\', '"\\\'', '[].', '', ' ', 'é', '1', '_x', '__proto__', 'x/y'].map(
    (key): PathStep => ({ kind: 'key', key }),
  );
  const steps: readonly PathStep[] = [
    ...keys,
    { kind: 'index', index: 0 },
    { kind: 'index', index: 99 },
    { kind: 'each' },
  ];
  for (const first of keys)
    for (const second of steps)
      for (const third of steps) {
        const path = [first, second, third];
        assert.deepEqual(parsePath(printPath(path), true), path);
      }
});
