// Files that import many others: each is on a page with its reason.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pages } from './pages.ts';
import { importsOf, roomOf, sourceFiles } from './sources.ts';

const most = 15;

test(`each file that imports more than ${most} others is on the page of the architecture, with its reason`, () => {
  const code = sourceFiles.filter(
    (file) => !['test', 'bench', 'packaging', ''].includes(roomOf(file)) && !/\.(?:test|fixture)\.ts$/.test(file),
  );
  const { text } = pages.find(({ path }) => path === 'docs/architecture.md')!;
  const [, section = ''] = text.split('## Files that import many others\n');
  const rows = [...section.matchAll(/^\| (`[^|]*) \| (.+) \|$/gm)];
  const listed = rows.flatMap(([, files]) => [...files!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!));
  assert.deepEqual(listed.toSorted(), code.filter((file) => new Set(importsOf(file)).size > most).toSorted());
});
