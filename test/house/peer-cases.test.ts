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
