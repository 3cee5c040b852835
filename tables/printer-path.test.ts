import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, constantFrom, property } from 'fast-check';
import { customPrinter } from './custom-columns.ts';
import { rowsOfCustomType } from './rows.ts';
import { mostValues, parsePrinterPath, TooManyValues, ValueBudget } from './printer-path.ts';

/** An object in an object in an object…, with a list in each. */
function nested(depth: number): object {
  let inner: object = { a: 'x' };
  for (let i = 0; i < depth; i++) inner = { a: inner, b: [inner, inner, 'text'] };
  return inner;
}

test('a path whose author asks for too much ends at a count, in whichever way it does (ATT-56)', () => {
  const list = Array.from({ length: 1_000 }, (_, i) => ({ i, list: [1, 2, 3], text: 'x'.repeat(2_000) }));
  const object = { deep: nested(8), list, wide: Object.fromEntries(list.map(({ i }) => [`k${i}`, list])) };
  const zeros = Array.from({ length: 300 }, () => '0').join(',');
  for (const path of [
    '.'.repeat(400),
    '..a..b..a..b',
    `.wide.*[${Array.from({ length: 100 }, () => '*').join(',')}]`,
    `.list[*].list[${zeros}][${zeros}]`,
    '.wide.*[:]',
    '.wide.*[?(@.i>=0)]',
    '.wide.*[?(@..a..b)]',
    `.wide.*[?(@.text==@.text)].i`,
    `[${zeros}]..`,
  ])
    assert.throws(() => parsePrinterPath(path)(path.startsWith('[') ? [object] : object), TooManyValues, path);
});

test('no path finds more values than are counted, however its steps are put together (ATT-56)', () => {
  const object = { a: [nested(4), [nested(3)]], b: { a: [1, 2, [3]], b: 'text' } };
  const steps = constantFrom('.a', '.b', '..', '.*', '[*]', '[0,0,0,1]', '[:]', '[-1]', '[?(@.a)]', '[?(@..a)]', '..a');
  check(
    property(array(steps, { maxLength: 40 }), (chosen) => {
      try {
        assert.ok(parsePrinterPath(chosen.join(''))(object).length <= mostValues);
      } catch (error) {
        if (!(error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError)) throw error;
      }
    }),
    { numRuns: 2_000 },
  );
});

test('paths of real columns find what they did, in an object as large as an API server keeps', () => {
  const conditions = Array.from({ length: 5_000 }, (_, i) => ({ type: `T${i}`, status: 'True' }));
  const object = { status: { conditions: [...conditions, { type: 'Ready', status: 'False' }] } };
  assert.deepEqual(parsePrinterPath('.status.conditions[?(@.type=="Ready")].status')(object), ['False']);
  assert.equal(parsePrinterPath('.status.conditions[*].type')(object).length, 5_001);
  assert.equal(parsePrinterPath('..status')(object).length, 5_002);
});

test('a column that asks for too much is empty, and the others of its row are there', () => {
  const printer = customPrinter(
    ['.'.repeat(400), '.spec.a'].map((jsonPath, i) => ({ name: `c${i}`, type: 'string', description: '', jsonPath })),
  );
  const cells = printer.map(({ cell }) =>
    cell({ spec: { a: 'here', deep: nested(10) } } as never, {} as never, ValueBudget.ofAllPaths()),
  );
  assert.deepEqual(cells, [null, 'here']);
});

test('paths of one author that are much to read leave cells empty, and the columns before them are there (ATT-56)', () => {
  const column = (jsonPath: string) => ({ name: 'c', type: 'string', description: '', jsonPath });
  const long = `.spec.list[${Array.from({ length: 900 }, (_, i) => i % 10).join(',')}]`;
  const { columns, row } = rowsOfCustomType([column('.spec.a'), ...Array.from({ length: 100 }, () => column(long))]);
  const { cells } = row({ spec: { a: 'here', list: Array.from({ length: 10 }, () => 'x') } } as never, 0);
  assert.equal(columns.length, 102);
  assert.deepEqual([cells[1], cells[2], cells[101]], ['here', 'x', null]);
  const parsing = ValueBudget.ofAllPaths();
  const parseAll = () => {
    for (let i = 0; i < 100; i++) parsePrinterPath(long, parsing);
  };
  assert.throws(parseAll, TooManyValues);
});

test('a cell is empty for an object with too many fields, before they are sorted', () => {
  const column = { name: 'c', type: 'string', description: '', jsonPath: '.spec' };
  const withFields = (count: number) => {
    const spec = Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
    return rowsOfCustomType([column]).row({ spec } as never, 0).cells[1];
  };
  assert.equal(withFields(40_000), null);
  assert.match(withFields(5_000) as string, /^\{"k0":0,"k1":1,"k10":10,/);
});

test('the columns of one row together take little more than one of them may (ATT-56)', () => {
  const object = {
    metadata: { name: 'x' },
    spec: { text: 'x'.repeat(100_000), list: Array.from({ length: 9_000 }, () => null) },
  };
  const column = (jsonPath: string) => ({ name: 'c', type: 'string', description: '', jsonPath });
  for (const path of ['.spec.list[*]', '.spec.text', '.spec', '.']) {
    const { row } = rowsOfCustomType([...Array.from({ length: 1_000 }, () => column(path)), column('.metadata.name')]);
    const [, first, ...others] = row(object, 0).cells;
    assert.notEqual(first, null, path);
    const text = JSON.stringify(others);
    assert.ok(text.length < 5_000_000, `${path}: ${text.length} characters`);
    assert.ok(others.filter((cell) => cell !== null).length < 40, path);
  }
});

test('a thousand columns that take little are all there', () => {
  const columns = Array.from({ length: 1_000 }, () => ({
    name: 'c',
    type: 'string',
    description: '',
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  }));
  const conditions = Array.from({ length: 5 }, (_, i) => ({ type: i === 4 ? 'Ready' : `T${i}`, status: 'True' }));
  const { cells } = rowsOfCustomType(columns).row({ metadata: { name: 'x' }, status: { conditions } } as never, 0);
  assert.ok(cells.slice(1).every((cell) => cell === 'True'));
});

test('a filter compares as client-go: integers with integers, floats with floats, texts by their bytes', () => {
  const list = [{ a: 1 }, { a: 2 }, { a: 9007199254740993n }, { b: 1.5 }];
  const found = (path: string, l: readonly unknown[] = list): unknown => parsePrinterPath(path)({ l });
  assert.deepEqual(found('.l[?(@.a>1)].a'), [2, 9007199254740993n]);
  assert.deepEqual(found('.l[?(@.a==9007199254740993)].a'), [9007199254740993n]);
  assert.deepEqual(found('.l[?(@.b<1.6)].b'), [1.5]);
  assert.deepEqual(found('.l[?(@.c==@.a[0])]'), [], 'what is not there is not compared');
  assert.deepEqual(found('.l[?(@.t<"～")].t', [{ t: '😀' }, { t: 'a' }]), ['a']);
  assert.deepEqual(found('.l[?(@.t==true)].t', [{ t: true }, { t: false }]), [true]);
  for (const [path, l] of [
    ['.l[?(@.a>1.0)]', list],
    ['.l[?(@.b!=1)]', list],
    ['.l[?(@.b<99999999999999999999)]', [{ b: 1 }]],
    ['.l[?(@.t<true)]', [{ t: false }]],
    ['.l[?(@.t=="1")]', [{ t: 1 }]],
  ] as const) {
    assert.throws(() => found(path, l), TypeError, path);
  }
});
