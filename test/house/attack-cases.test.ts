// The catalogue of attacks: each has one row, and each row names tests that exist, end in its id and go every way, or
// says why not.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { idsOfName, testNames } from './cases.ts';
import { root } from './pages.ts';

const page = readFileSync(join(root, 'docs/reference/attack-cases.md'), 'utf8');
/** How many attacks the catalogue has: ATT-01, ATT-02 and so on. */
const attackCount = 67;
const attacks = Array.from({ length: attackCount }, (_, i) => `ATT-${String(i + 1).padStart(2, '0')}`);

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
  return [...text.matchAll(/^\| (ATT-\d\d) \|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|$/gm)].map(
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

/** What is wrong with a row, given the text of a file or undefined. */
function faults(row: Row, read: (file: string) => string | undefined): readonly string[] {
  const found: string[] = [];
  for (const named of row.tests) {
    const text = read(named.file);
    if (text === undefined) found.push(`${row.id}: there is no ${named.file}`);
    else if (!testNames(text).includes(named.name)) found.push(`${row.id}: ${named.file} has no test "${named.name}"`);
    if (!idsOfName(named.name).includes(row.id)) found.push(`${row.id}: "${named.name}" does not hold its number`);
  }
  const throughHub = row.tests.some(({ file }) => file.endsWith('.e2e.ts'));
  if (row.ways.includes('H') && !throughHub) found.push(`${row.id}: no test of it on a real hub`);
  if (row.tests.length > 0 && row.ways.length === 0) found.push(`${row.id}: tests, and no way they go`);
  if (row.tests.length === 0 && row.missing === '')
    found.push(`${row.id}: neither a test nor a reason why there is none`);
  else if (row.ways.length < 4 && row.missing === '') found.push(`${row.id}: not every way, and no reason`);
  return found;
}

/** Ids of attacks in rows of a page that no test of the files in the same row ends in. */
function unheld(text: string, read: (file: string) => string | undefined): readonly string[] {
  return [...text.matchAll(/^\|.*\|$/gm)].flatMap(([row]) => {
    const files = [...row.matchAll(/`([^`]+\.ts)`/g)].map(([, file]) => file!);
    const held = new Set(files.flatMap((file) => testNames(read(file) ?? '').flatMap(idsOfName)));
    return [...row.matchAll(/ATT-\d\d/g)].map(([id]) => id).filter((id) => !held.has(id));
  });
}

function readFile(file: string): string | undefined {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

const rows = readRows(page);

test('every attack of the catalogue has one row', () => {
  assert.deepEqual(
    rows.map(({ id }) => id),
    attacks,
  );
});

test('every test that is named exists and holds its numbers, and what is not covered says why', () => {
  assert.deepEqual(
    rows.flatMap((row) => faults(row, readFile)),
    [],
  );
});

test('every attack that SECURITY.md names is held by a test of a file beside it', () => {
  const security = readFileSync(join(root, 'SECURITY.md'), 'utf8');
  assert.ok((security.match(/ATT-\d\d/g) ?? []).length > 30);
  assert.deepEqual(unheld(security, readFile), []);
});

test('a test that is gone, has another number, or is not through a hub is noticed', () => {
  const text = "test(`${token} is refused (${way}) (ATT-07)`, f);\ntest('other (ATT-17)', f);";
  const row = (line: string): Row => readRows(`| ATT-07 | what | ${line} |`)[0]!;
  const read = (file: string): string | undefined => (file === 'test/attack/x.test.ts' ? text : undefined);
  const of = (line: string): number => faults(row(line), read).length;
  assert.equal(of('1 2 U | `test/attack/x.test.ts` … is refused (…) (ATT-07) | H: why'), 0);
  assert.equal(of('1 2 U | `test/attack/x.test.ts` … is refused (ATT-07) | H: why'), 1);
  assert.equal(of('1 2 U | `test/attack/x.test.ts` other (ATT-17) | H: why'), 1);
  assert.equal(of('1 2 U H | `test/attack/x.test.ts` … is refused (…) (ATT-07) |'), 1);
  assert.equal(of('1 2 U | `test/attack/x.test.ts` … is refused (…) (ATT-07) |'), 1);
  assert.equal(of('1 2 U H | `test/e2e/gone.e2e.ts` x (ATT-07) |'), 1);
  assert.equal(of('- | - |'), 1);
  assert.deepEqual(unheld('| a promise | `test/attack/x.test.ts` (ATT-07, ATT-08) |', read), ['ATT-08']);
});
