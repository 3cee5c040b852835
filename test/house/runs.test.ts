// Every test belongs to a run: nothing that looks like a test is left for nobody to start, and lists of rooms in other
// checks are those of the tree.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programNames } from '../controlplane/modules.ts';
import { endToEndFiles, isLandingFile, openingLine, rooms, socketFiles, unitFiles } from '../runs.ts';
import { projectFiles, rooms as roomsOfTree, textOf } from './sources.ts';

const runs = new Set([...unitFiles, ...socketFiles, ...endToEndFiles]);

/** Files that look like tests and that no run starts. */
function unrun(files: readonly string[]): readonly string[] {
  return files.filter((file) => /\.(?:test|spec|e2e)\.[cm]?[jt]sx?$/.test(file) && !runs.has(file));
}

test('every test file belongs to npm test or to an end-to-end run', () => {
  assert.ok(unitFiles.length > 300 && socketFiles.length > 50 && endToEndFiles.length > 100);
  assert.deepEqual(unrun(projectFiles), []);
  assert.equal(runs.size, unitFiles.length + socketFiles.length + endToEndFiles.length, 'a file in two runs');
});

test('the rooms whose tests run are all folders of the tree that hold sources', () => {
  assert.deepEqual(rooms, roomsOfTree);
});

test('a test that nobody would run is noticed', () => {
  const left = ['newroom/a.e2e.ts', 'lib/a.test.tsx', 'lib/b.spec.ts', 'bin/c.test.mjs'];
  assert.deepEqual(unrun([...left, 'lib/latest.ts', 'test/runs.ts', unitFiles[0]!]), left);
});

test('a tier is said in the opening comment, and nowhere else', () => {
  const text = '// What it is for.\n// Landing tier: kubectl works.\n';
  assert.equal(openingLine(`${text}import 'x';\n`, 'Landing tier'), 'kubectl works.');
  assert.equal(openingLine(`import 'x';\n${text}`, 'Landing tier'), undefined);
  assert.equal(openingLine('// a. Landing tier: b.\n', 'Landing tier'), undefined);
});

test('the landing tier has a file of each folder of end-to-end tests, and all that SECURITY.md cites', () => {
  const landing = endToEndFiles.filter(isLandingFile);
  const folders = new Set(endToEndFiles.flatMap((file) => /^test\/e2e\/[^/]+\//.exec(file) ?? []));
  const without = [...folders].filter((folder) => !landing.some((file) => file.startsWith(folder)));
  assert.deepEqual(without, []);
  const cited = [...textOf('SECURITY.md').matchAll(/`(test\/[^`]*\.e2e\.ts)`/g)].map(([, file]) => file!);
  assert.ok(cited.length > 15);
  assert.deepEqual(
    cited.filter((file) => !landing.includes(file)),
    [],
  );
});

test('programs that the landing tier asks for by name are built before it', () => {
  const built = programNames('landing');
  const asked = endToEndFiles.filter(isLandingFile).flatMap((file) => {
    const names = [...textOf(file).matchAll(/ensureBinaries\(\[([^\]]*)\]/g)].flatMap(([, list]) => list!.split(','));
    return names.map((name) => [file, name.trim().replaceAll("'", '')] as const);
  });
  assert.ok(asked.length > 3);
  assert.deepEqual(
    asked.filter(([, name]) => !built.includes(name)),
    [],
  );
});
