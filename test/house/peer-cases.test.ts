// What peers' own test cases became here: each row of the two pages names tests that exist and carry its number. Easy to get wrong: a number that is only
// part of another one counts for nothing, and a range counts for each number in it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/reference/cluster-gateway-cases.md'), 'utf8');

/** How many cases each part of cluster-gateway's tests has. */
const cases = { P: 7, I: 9, S: 18, T: 8, V: 13, E: 17, R: 7, C: 4, O: 2 } as const;

interface Row {
  readonly id: string;
  readonly files: readonly string[];
  readonly difference: string;
}

/** Rows of all tables of the page, by their first cell. */
function readRows(text: string): readonly Row[] {
  return [...text.matchAll(/^\| ([A-Z]\d+) \|[^|]*\|([^|]*)\|([^|]*)\|$/gm)].map(([, id, tests, difference]) => ({
    id: id!,
    files: [...tests!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!),
    difference: difference!.trim(),
  }));
}

/** Names of the tests in a file's text. */
function testNames(text: string): readonly string[] {
  return [...text.matchAll(/\b(?:test|it)\(\s*(["'`])(.*?)\1,/gs)].map(([, , name]) => name!);
}

/** Whether a test by one of these names is said to hold the row: `R5: …`, `S7 and S17: …`, `B5 …: R1 R3 … of …`. */
function holds(names: readonly string[], id: string): boolean {
  return names.some(
    (name) =>
      new RegExp(`\\b${id}\\b`).test(name) && new RegExp(`^[^:]*\\b${id}\\b|: (?:\\w\\d+ )*${id}\\b`).test(name),
  );
}

const rows = readRows(page);

test('B5: every case of cluster-gateway has one row', () => {
  const wanted = Object.entries(cases).flatMap(([part, count]) =>
    Array.from({ length: count }, (_, index) => `${part}${index + 1}`),
  );
  assert.deepEqual(rows.map(({ id }) => id).toSorted(), wanted.toSorted());
});

test('B5: every row names a test, or why there is none', () => {
  assert.deepEqual(
    rows.filter(({ files, difference }) => files.length === 0 && difference === '').map(({ id }) => id),
    [],
  );
});

test('B5: every test file named exists and has a test with the number of the row in its name', () => {
  const missing = rows.flatMap(({ id, files }) =>
    files
      .filter((file) => !existsSync(join(root, file)) || !holds(testNames(readFileSync(join(root, file), 'utf8')), id))
      .map((file) => `${id}: ${file}`),
  );
  assert.deepEqual(missing, []);
});

test('B5: a number that is only part of another, or in no test name, is noticed', () => {
  const names = testNames("// S1\ntest('S17: a plugin', () => {});\nit(`B5 hub: R1 R3 of`, f);");
  assert.deepEqual(names, ['S17: a plugin', 'B5 hub: R1 R3 of']);
  assert.deepEqual(
    ['S1', 'S17', 'R1', 'R3', 'R2'].filter((id) => holds(names, id)),
    ['S17', 'R1', 'R3'],
  );
});

const clusterpediaCases = 173;
const shortNames: Readonly<Record<string, string>> = {
  Q: 'test/integration/index/index-peer-queries.ts',
  O: 'test/integration/index/index-peer-objects.ts',
  F: 'test/integration/index/index-peer-forwards.ts',
};

/** Numbers in `T18-T25, T147`. */
function numbersIn(text: string): readonly number[] {
  return [...text.matchAll(/\bT(\d+)(?:-T(\d+))?(?![\w-])/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i),
  );
}

interface RangeRow {
  readonly numbers: readonly number[];
  readonly files: readonly string[];
}

function readRanges(text: string): readonly RangeRow[] {
  return [...text.matchAll(/^\| (T[\dT-]+) \|[^|]*\|([^|]*)\|[^|]*\|$/gm)].map(([, rows, tests]) => ({
    numbers: numbersIn(rows!),
    files: tests!
      .split(',')
      .map((file) => file.trim().replaceAll('`', ''))
      .map((file) => shortNames[file] ?? file),
  }));
}

const ranges = readRanges(readFileSync(join(root, 'docs/reference/clusterpedia-cases.md'), 'utf8'));

test("E1: every case of Clusterpedia's tests has one row", () => {
  assert.deepEqual(
    ranges.flatMap(({ numbers }) => numbers),
    Array.from({ length: clusterpediaCases }, (_, i) => i + 1),
  );
});

test("E1: each test file named for a case of Clusterpedia's has tests of the row, and together they hold all of it", () => {
  const held = (file: string): ReadonlySet<number> => {
    const names = testNames(readFileSync(join(root, file), 'utf8'));
    return new Set(names.flatMap((name) => numbersIn(name.split(':')[0]!)));
  };
  const missing = ranges.flatMap(({ numbers, files }) => {
    const sets = files.map((file) => (existsSync(join(root, file)) ? held(file) : new Set<number>()));
    const idle = files.filter((_, i) => !numbers.some((number) => sets[i]!.has(number)));
    const unheld = numbers.filter((number) => !sets.some((set) => set.has(number)));
    return [...idle.map((file) => `T${numbers[0]}: ${file}`), ...unheld.map((number) => `T${number}`)];
  });
  assert.deepEqual(missing, []);
});

test('E1: a range in the name of a test stands for each number in it, and no other', () => {
  assert.deepEqual(numbersIn('T18-T20, T147'), [18, 19, 20, 147]);
  assert.deepEqual(numbersIn('T1'), [1]);
  assert.deepEqual(numbersIn('AT1 T12x'), []);
});
