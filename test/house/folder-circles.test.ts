// Folders that import each other in a circle cannot be understood one after the other.
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { importsOf, productionFiles, sourceFiles } from './sources.ts';

/** The folders that each folder imports, types included. Tests do not count. */
function folderGraph(files: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const graph = new Map<string, Set<string>>();
  for (const file of files) {
    const folder = dirname(file);
    const imported = graph.get(folder) ?? new Set();
    graph.set(folder, imported);
    for (const other of importsOf(file).map((each) => dirname(each))) if (other !== folder) imported.add(other);
  }
  return graph;
}

/** Sets of folders that reach each other, as sorted names with blanks between. */
function circlesOf(graph: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const reached = new Map([...graph.keys()].map((folder) => [folder, reachableFrom(graph, folder)]));
  const circles = [...graph.keys()].map((folder) =>
    [...reached.get(folder)!].filter((other) => reached.get(other)?.has(folder) === true).toSorted(),
  );
  return [...new Set(circles.filter((circle) => circle.length > 1).map((circle) => circle.join(' ')))].toSorted();
}

function reachableFrom(graph: ReadonlyMap<string, ReadonlySet<string>>, start: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const waiting = [start];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop())
    for (const other of graph.get(folder) ?? [])
      if (!seen.has(other)) {
        seen.add(other);
        waiting.push(other);
      }
  return seen;
}

test('folders import each other in no circle', () => {
  const console = sourceFiles.filter((file) => file.startsWith('console/') && !/\.(?:test|fixture)\.ts$/.test(file));
  const files = [...productionFiles, ...console];
  assert.ok(files.length > 500, `only ${files.length} files were looked at`);
  assert.deepEqual(circlesOf(folderGraph(files)), []);
});

test('a circle of folders is noticed, through others too, and an import within a folder is none', () => {
  const graph = new Map(
    Object.entries({ a: ['b'], b: ['c'], c: ['a', 'd'], d: ['e'], e: [], f: ['a'] }).map(([folder, others]) => [
      folder,
      new Set(others),
    ]),
  );
  assert.deepEqual(circlesOf(graph), ['a b c']);
  assert.ok(!folderGraph(productionFiles).get('query')!.has('query'));
});
