// What peers' own test cases became here: each row of the two pages names tests that exist and end in its number. A
// range counts for each number in it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { idsOfName, testNames } from './cases.ts';
import { root } from './pages.ts';

const page = readFileSync(join(root, 'docs/reference/cluster-gateway-cases.md'), 'utf8');

/** How many cases the tests of cluster-gateway have: CG-01, CG-02 and so on. */
const clusterGatewayCases = 85;

interface Row {
  readonly id: string;
  readonly files: readonly string[];
  readonly difference: string;
}

/** Rows of all tables of the page, by their first cell. */
function readRows(text: string): readonly Row[] {
  return [...text.matchAll(/^\| (CG-\d+) \|[^|]*\|([^|]*)\|([^|]*)\|$/gm)].map(([, id, tests, difference]) => ({
    id: id!,
    files: [...tests!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!),
    difference: difference!.trim(),
  }));
}

/** Whether the brackets at the end of one of these names hold the row. */
function holds(names: readonly string[], id: string): boolean {
  return names.some((name) => idsOfName(name).includes(id));
}

const rows = readRows(page);

test('every case of cluster-gateway has one row', () => {
  const wanted = Array.from({ length: clusterGatewayCases }, (_, i) => `CG-${String(i + 1).padStart(2, '0')}`);
  assert.deepEqual(rows.map(({ id }) => id).toSorted(), wanted.toSorted());
});

test('every row names a test, or why there is none', () => {
  assert.deepEqual(
    rows.filter(({ files, difference }) => files.length === 0 && difference === '').map(({ id }) => id),
    [],
  );
});

test('every test file named exists and has a test with the number of the row in its name', () => {
  const missing = rows.flatMap(({ id, files }) =>
    files
      .filter((file) => !existsSync(join(root, file)) || !holds(testNames(readFileSync(join(root, file), 'utf8')), id))
      .map((file) => `${id}: ${file}`),
  );
  assert.deepEqual(missing, []);
});

test('a number that is only part of another, or in no test name, is noticed', () => {
  const names = testNames("// CG-01\ntest('a plugin (CG-17)', () => {});\nit(`${hub}: a client (CG-02, CG-03)`, f);");
  assert.deepEqual(names, ['a plugin (CG-17)', '…: a client (CG-02, CG-03)']);
  assert.deepEqual(
    ['CG-01', 'CG-17', 'CG-02', 'CG-03', 'CG-1'].filter((id) => holds(names, id)),
    ['CG-17', 'CG-02', 'CG-03'],
  );
});

const clusterpediaCases = 173;
const shortNames: Readonly<Record<string, string>> = {
  Q: 'test/integration/index/index-peer-queries.ts',
  O: 'test/integration/index/index-peer-objects.ts',
  F: 'test/integration/index/index-peer-forwards.ts',
};

/** Numbers in `CP-018 to CP-025, CP-147`. */
function numbersIn(text: string): readonly number[] {
  return [...text.matchAll(/\bCP-(\d+)(?: to CP-(\d+))?(?![\w-])/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i),
  );
}

interface RangeRow {
  readonly numbers: readonly number[];
  readonly files: readonly string[];
}

function readRanges(text: string): readonly RangeRow[] {
  return [...text.matchAll(/^\| (CP-[\dCPto -]+) \|[^|]*\|([^|]*)\|[^|]*\|$/gm)].map(([, rows, tests]) => ({
    numbers: numbersIn(rows!),
    files: tests!
      .split(',')
      .map((file) => file.trim().replaceAll('`', ''))
      .map((file) => shortNames[file] ?? file),
  }));
}

const ranges = readRanges(readFileSync(join(root, 'docs/reference/clusterpedia-cases.md'), 'utf8'));

test("every case of Clusterpedia's tests has one row", () => {
  assert.deepEqual(
    ranges.flatMap(({ numbers }) => numbers),
    Array.from({ length: clusterpediaCases }, (_, i) => i + 1),
  );
});

test("each test file named for a case of Clusterpedia's has tests of the row, and together they hold all of it", () => {
  const held = (file: string): ReadonlySet<number> => {
    const names = testNames(readFileSync(join(root, file), 'utf8'));
    return new Set(names.flatMap((name) => idsOfName(name).flatMap(numbersIn)));
  };
  const missing = ranges.flatMap(({ numbers, files }) => {
    const sets = files.map((file) => (existsSync(join(root, file)) ? held(file) : new Set<number>()));
    const idle = files.filter((_, i) => !numbers.some((number) => sets[i]!.has(number)));
    const unheld = numbers.filter((number) => !sets.some((set) => set.has(number)));
    return [...idle.map((file) => `CP-${numbers[0]}: ${file}`), ...unheld.map((number) => `CP-${number}`)];
  });
  assert.deepEqual(missing, []);
});

test('a range in the name of a test stands for each number in it, and no other', () => {
  assert.deepEqual(numbersIn('CP-018 to CP-020, CP-147'), [18, 19, 20, 147]);
  assert.deepEqual(numbersIn('CP-001'), [1]);
  assert.deepEqual(numbersIn('XCP-1 CP-12x'), []);
});
