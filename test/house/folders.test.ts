// The folders of the project: those that docs/architecture.md names are there, every folder with sources has a row in
// it or stands in a folder that has one, and none holds more files than one reads through.
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { projectFiles, textOf } from './sources.ts';

/** Files directly in a folder. */
const mostFiles = 26;
/** A log that only grows; its files are found by number. */
const log = 'docs/decisions';

/** The folders in the first column of the page's section "The folders of each room". */
function foldersOfPage(page: string): readonly string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith('The folders of each room\n')) ?? '';
  const cells = [...section.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell]) => cell!);
  return cells.flatMap((cell) => [...cell.matchAll(/`([\w/-]+)`/g)].map(([, name]) => name!));
}

/** A folder and those above it, the room left out: `a/b/c` gives `a/b/c` and `a/b`. */
function withParents(folder: string): readonly string[] {
  const parts = folder.split('/');
  return parts.slice(1).map((_, i) => parts.slice(0, i + 2).join('/'));
}

/** What is wrong with the folders of files, given the page. */
function faults(page: string, files: readonly string[]): readonly string[] {
  const named = foldersOfPage(page);
  const withFiles = Map.groupBy(files, dirname);
  const existing = new Set([...withFiles.keys()].flatMap((folder) => [folder.split('/')[0]!, ...withParents(folder)]));
  const gone = named.filter((folder) => !existing.has(folder)).map((folder) => `there is no ${folder}`);
  const sources = [...withFiles]
    .filter(([, all]) => all.some((file) => /\.tsx?$/.test(file)))
    .map(([folder]) => folder);
  const unnamed = sources
    .filter((folder) => folder.includes('/') && !withParents(folder).some((each) => named.includes(each)))
    .map((folder) => `${folder} is not in the page`);
  const full = [...withFiles]
    .filter(([folder, all]) => folder !== log && all.length > mostFiles)
    .map(([folder, all]) => `${folder} holds ${all.length} files`);
  return [...gone, ...unnamed, ...full];
}

test('the page of the architecture names every folder, and no folder holds more than 26 files', () => {
  assert.ok(foldersOfPage(textOf('docs/architecture.md')).length > 40);
  assert.deepEqual(faults(textOf('docs/architecture.md'), projectFiles), []);
});

test('a folder that is gone, one that has no row, and one that is too full are noticed', () => {
  const page = '## The folders of each room\n\n| Folder | Job |\n|---|---|\n| `a/b`, `a/c`, `a/c/z` | x · y |\n';
  const fine = ['a/b/1.ts', 'a/b/d/e/1.ts', 'a/c/1.ts', 'a/c/z/1.ts', 'a/1.ts', 'f/data/1.json', '1.ts'];
  assert.deepEqual(foldersOfPage(page), ['a/b', 'a/c', 'a/c/z']);
  assert.deepEqual(faults(page, fine), []);
  assert.deepEqual(faults(page, fine.slice(1, 3)), ['there is no a/c/z']);
  assert.deepEqual(faults(page, [...fine, 'a/d/1.ts', 'f/g/h/1.ts']), [
    'a/d is not in the page',
    'f/g/h is not in the page',
  ]);
  const many = Array.from({ length: mostFiles }, (_, i) => `a/c/${i}.md`);
  assert.deepEqual(faults(page, [...fine, ...many]), [`a/c holds ${mostFiles + 1} files`]);
});
