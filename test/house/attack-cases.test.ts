import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/reference/attack-cases.md'), 'utf8');
/** Attacks of the catalogue, S01 to S40. */
const attacks = Array.from({ length: 40 }, (_, i) => `S${String(i + 1).padStart(2, '0')}`);

interface Named {
  readonly file: string;
  readonly name: string;
}

interface Row {
  readonly id: string;
  /** `1`, `2`, `U`, `H`. */
  readonly ways: readonly string[];
  readonly tests: readonly Named[];
  readonly missing: string;
}

/** Rows of the page's table: number, what is attacked, ways, tests, what is not covered. */
function readRows(text: string): readonly Row[] {
  return [...text.matchAll(/^\| (S\d\d) \|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|$/gm)].map(
    ([, id, , ways, tests, missing]) => ({
      id: id!,
      ways: ways!
        .trim()
        .split(' ')
        .filter((way) => way !== '' && way !== '-'),
      tests: [...tests!.matchAll(/`([^`]+)` ([^<|]+?)(?=<br>|\s*$)/g)].map(([, file, name]) => ({
        file: file!,
        name: name!,
      })),
      missing: missing!.trim(),
    }),
  );
}

/** Names of the tests in a file's text; whatever a template puts in is `…`. */
function testNames(text: string): readonly string[] {
  return [...text.matchAll(/\b(?:test|it)\(\s*(["'`])(.*?)\1,/gs)].map(([, , name]) =>
    name!.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll("\\'", "'"),
  );
}

/** Whether the part of a test's name before the colon holds the attack, and in tests of attacks its acceptance row. */
function holds({ file, name }: Named, id: string): boolean {
  const label = name.slice(0, name.indexOf(':'));
  const numbers = label.split(/[\s,]+/);
  const isAttack = /^test\/(?:attack|e2e)\//.test(file);
  return numbers.includes(id) && (!isAttack || numbers.includes(`C${Number(id.slice(1))}`));
}

/** What is wrong with a row, given the text of a file or undefined. */
function faults(row: Row, read: (file: string) => string | undefined): readonly string[] {
  const found: string[] = [];
  for (const named of row.tests) {
    const text = read(named.file);
    if (text === undefined) found.push(`${row.id}: there is no ${named.file}`);
    else if (!testNames(text).includes(named.name)) found.push(`${row.id}: ${named.file} has no test "${named.name}"`);
    if (!holds(named, row.id)) found.push(`${row.id}: "${named.name}" does not hold its number`);
  }
  const throughHub = row.tests.some(({ file }) => file.endsWith('.e2e.ts'));
  if (row.ways.includes('H') && !throughHub) found.push(`${row.id}: no test of it on a real hub`);
  if (row.tests.length > 0 && row.ways.length === 0) found.push(`${row.id}: tests, and no way they go`);
  if (row.tests.length === 0 && row.missing === '')
    found.push(`${row.id}: neither a test nor a reason why there is none`);
  else if (row.ways.length < 4 && row.missing === '') found.push(`${row.id}: not every way, and no reason`);
  return found;
}

function readFile(file: string): string | undefined {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

const rows = readRows(page);

test('C1 to C40: every attack of the catalogue has one row', () => {
  assert.deepEqual(
    rows.map(({ id }) => id),
    attacks,
  );
});

test('C1 to C40: every test that is named exists and holds its numbers, and what is not covered says why', () => {
  assert.deepEqual(
    rows.flatMap((row) => faults(row, readFile)),
    [],
  );
});

test('C1 to C40: a test that is gone, has another number, or is not through a hub is noticed', () => {
  const text = "test(`C7 S07: ${token} is refused (${way})`, f);\ntest('C17 S17: other', f);";
  const row = (line: string): Row => readRows(`| S07 | what | ${line} |`)[0]!;
  const read = (file: string): string | undefined => (file === 'test/attack/x.test.ts' ? text : undefined);
  const of = (line: string): number => faults(row(line), read).length;
  assert.equal(of('1 2 U | `test/attack/x.test.ts` C7 S07: … is refused (…) | H: why'), 0);
  assert.equal(of('1 2 U | `test/attack/x.test.ts` C7 S07: … is refused | H: why'), 1);
  assert.equal(of('1 2 U | `test/attack/x.test.ts` C17 S17: other | H: why'), 1);
  assert.equal(of('1 2 U H | `test/attack/x.test.ts` C7 S07: … is refused (…) |'), 1);
  assert.equal(of('1 2 U | `test/attack/x.test.ts` C7 S07: … is refused (…) |'), 1);
  assert.equal(of('1 2 U H | `test/e2e/gone.e2e.ts` C7 S07: x |'), 1);
  assert.equal(of('- | - |'), 1);
});
