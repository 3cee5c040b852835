// Texts stand by themselves: what they cite is in the repository, and names of tests are sentences. Also: what is for
// tests says so in its name, and comments fit a window.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsOfName, titles } from './cases.ts';
import { importsOf, productionRooms, projectFiles, roomOf, sourceFiles, textOf } from './sources.ts';

/** Planning papers that a reader of the repository does not have; in pieces, or this file would name them. */
const papers = new RegExp(String.raw`\bDES${'IGN'}\b|\b[Ii]ssues? ${'#?'}\d`);
/** Files that are no text, or not ours. */
const unread = /\.(?:gz|png|ico|node|snap)$|^package-lock\.json$|^CHANGELOG\.md$|(?:^|\/)go\.sum$/;

/** Pages that define the ids which names of tests end in. */
const catalogues = [
  'docs/reference/attack-cases.md',
  'docs/reference/cluster-gateway-cases.md',
  'docs/reference/clusterpedia-cases.md',
  'docs/reliability.md',
] as const;

const id = /\b([A-Z]{1,4})-(\d{1,3})(?: to \1-(\d{1,3}))?(?![\w-])/g;

/** Ids in a text, `CP-018 to CP-020` being three. */
function idsIn(text: string): readonly string[] {
  return [...text.matchAll(id)].flatMap(([, prefix, first, last = first]) =>
    Array.from(
      { length: Number(last) - Number(first) + 1 },
      (_, i) => `${prefix}-${String(Number(first) + i).padStart(first!.length, '0')}`,
    ),
  );
}

/** Ids that rows of a page begin with. */
function idsDefinedIn(page: string): readonly string[] {
  return [...page.matchAll(/^\| ([A-Z]{2,4}-\d[^|]*) \|/gm)].flatMap(([, cell]) => idsIn(cell!));
}

/** What is wrong with the name of a test, given the ids there are. */
function nameFaults(name: string, defined: ReadonlySet<string>): readonly string[] {
  const unknown = idsOfName(name)
    .flatMap(idsIn)
    .filter((each) => !defined.has(each));
  return [
    ...unknown.map((each) => `"${name}": no page has ${each}`),
    ...(/^[A-Z]{1,4}-?\d{1,3}[a-z]?(?:[ ,]+[A-Z]{1,4}-?\d{1,3}[a-z]?)*:/.test(name)
      ? [`"${name}" begins with an id`]
      : []),
  ];
}

/** Lines of comments that are longer than 120 columns; an address that cannot be broken may be. */
function longComments(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => line.length > 120 && /^\s*(?:\/\/|\/?\*)/.test(line) && !/^\s*(?:\/\/|\/?\*+) \S+$/.test(line));
}

/**
 * Lines of Markdown prose that are longer than 120 columns. Tables, headings and blocks of code cannot be broken, and
 * code and links in a line need not be.
 */
function longProse(text: string): readonly string[] {
  let isCode = false;
  return text.split('\n').filter((line) => {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
    return line.length > 120 && !isCode && !/^\s*[|#<>]|`|\]\(/.test(line);
  });
}

const forTests = /\.(?:test|fixture)\.ts$/;

/** Files of the production rooms that only tests import, and those called test-something. */
function disguised(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const isForTests = (file: string): boolean => forTests.test(file) || !productionRooms.includes(roomOf(file));
  const importers = new Map<string, boolean[]>();
  for (const [file, imported] of imports)
    for (const each of imported) importers.set(each, [...(importers.get(each) ?? []), isForTests(file)]);
  return [...imports.keys()]
    .filter((file) => productionRooms.includes(roomOf(file)) && !forTests.test(file))
    .filter((file) => /(?:^|\/)test-[^/]*$/.test(file) || (importers.get(file)?.every((only) => only) ?? false));
}

test('no text speaks of papers that are not in the repository', () => {
  const files = projectFiles.filter((file) => !unread.test(file));
  assert.ok(files.length > 500);
  assert.deepEqual(
    files.filter((file) => papers.test(textOf(file))),
    [],
  );
});

test('ids stand at the end of the names of tests and are defined in a page; no name begins with one', () => {
  const defined = new Set(catalogues.flatMap((page) => idsDefinedIn(textOf(page))));
  assert.ok(defined.size > 300, `${defined.size} ids`);
  const files = sourceFiles.filter((file) => !file.startsWith('test/house/'));
  const faults = files.flatMap((file) =>
    titles(textOf(file)).flatMap((name) => nameFaults(name, defined).map((fault) => `${file}: ${fault}`)),
  );
  assert.deepEqual(faults, []);
});

test('what is for tests in a production room is a .fixture.ts or a .test.ts', () => {
  assert.deepEqual(disguised(new Map(sourceFiles.map((file) => [file, importsOf(file)]))), []);
});

test('lines of comments have at most 120 columns', () => {
  const long = sourceFiles.flatMap((file) => longComments(textOf(file)).map((line) => `${file}: ${line.trim()}`));
  assert.deepEqual(long, []);
});

test('prose on pages has lines of at most 120 columns', () => {
  const pages = projectFiles.filter((file) => file.endsWith('.md'));
  assert.ok(pages.length > 80);
  const long = pages.flatMap((page) => longProse(textOf(page)).map((line) => `${page}: ${line}`));
  assert.deepEqual(long, []);
  assert.deepEqual(
    longProse(`${'word '.repeat(30)}\n| ${'cell '.repeat(30)} |\n\`\`\`sh\n${'echo '.repeat(30)}\n\`\`\``),
    ['word '.repeat(30)],
  );
});

test('a paper, an id of no page, a helper of tests without its name, and a long comment are noticed', () => {
  for (const text of [`see DES${'IGN'}.md`, `mends issue ${7}`, `issues #${8}`]) assert.match(text, papers);
  for (const text of ['the design', `issues${' a token'}`, 'issuer 7']) assert.doesNotMatch(text, papers);
  const defined = new Set(idsDefinedIn('| ATT-01 | a |\n| CP-018 to CP-020, CP-147 | b |\n| Row | FLT-09 |\n'));
  assert.deepEqual([...defined], ['ATT-01', 'CP-018', 'CP-019', 'CP-020', 'CP-147']);
  for (const name of [
    'a (ATT-01)',
    'a (CP-018 to CP-020)',
    'a (CVE-2023-46254)',
    'a A14 b',
    'HTTP/2: a',
    '… (ATT-01, CP-147)',
  ])
    assert.deepEqual(nameFaults(name, defined), [], name);
  for (const name of ['a (ATT-02)', 'a (A-07)', 'A14: a', 'S07 C07: a', 'ATT-01: a', 'a (ATT-01, FLT-09)'])
    assert.equal(nameFaults(name, defined).length, 1, name);
  const graph = { 'lib/a.ts': [], 'lib/b.ts': [], 'lib/a.test.ts': ['lib/a.ts', 'lib/b.ts', 'lib/c.fixture.ts'] };
  const rest = { 'lib/c.fixture.ts': ['lib/a.ts'], 'bin/x.ts': ['lib/b.ts'], 'lib/test-d.ts': [] };
  assert.deepEqual(disguised(new Map(Object.entries({ ...graph, ...rest }))), ['lib/a.ts', 'lib/test-d.ts']);
  const line = `  // ${'a '.repeat(60)}`;
  assert.deepEqual(longComments(`${line}\n const x = 'y';\n * https://x.test/${'x'.repeat(120)}\n${line.slice(5)}\n`), [
    line,
  ]);
});
