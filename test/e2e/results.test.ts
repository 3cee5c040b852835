import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lastResults, resultsOf, table, treeHash, type FileResult } from './results.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const folder = tempDir('results');

function result(file: string, failed: number, attempt = 1): FileResult {
  return { file, seconds: 3.2, attempt, counts: { passed: 4, failed, skipped: 0, skips: [], failures: [] } };
}

test('what a run kept is read by the next one, also after it was killed in the middle of a line', () => {
  const results = resultsOf('tree', folder);
  assert.deepEqual(results.read(), []);
  const log = results.keep(result('test/e2e/a.e2e.ts', 1), 'what it said');
  assert.equal(readFileSync(log, 'utf8'), 'what it said');
  results.keep(result('test/e2e/a.e2e.ts', 0, 2), '');
  appendFileSync(join(folder, 'tree', 'results.jsonl'), '\n{"file":"test/e2e/b.e2');
  const again = resultsOf('tree', folder);
  assert.deepEqual(again.read(), [result('test/e2e/a.e2e.ts', 1), result('test/e2e/a.e2e.ts', 0, 2)]);
  assert.equal(lastResults(again.read()).get('test/e2e/a.e2e.ts')?.counts.failed, 0);
  assert.deepEqual(resultsOf('another', folder).read(), []);
  again.clear();
  assert.deepEqual(again.read(), []);
});

test('results of a line that was cut do not spoil those that come after it', () => {
  const results = resultsOf('cut', folder);
  results.keep(result('a', 0), '');
  appendFileSync(join(folder, 'cut', 'results.jsonl'), '\n{"file":"b');
  const after = resultsOf('cut', folder);
  after.keep(result('c', 0), '');
  assert.deepEqual(
    after.read().map(({ file }) => file),
    ['a', 'c'],
  );
});

test('the hash of a tree changes with every file that git does not ignore, committed or not', () => {
  const checkout = join(folder, 'checkout');
  mkdirSync(checkout);
  execFileSync('git', ['init', '--quiet', checkout]);
  writeFileSync(join(checkout, '.gitignore'), '*.log\n');
  const hashes = [treeHash(checkout)];
  const write = (file: string, text: string): void => {
    writeFileSync(join(checkout, file), text);
    hashes.push(treeHash(checkout));
  };
  write('a.ts', '1');
  write('a.ts', '2');
  write('ignored.log', 'x');
  assert.equal(new Set(hashes).size, 3);
  assert.equal(hashes[2], hashes[3]);
  assert.equal(
    execFileSync('git', ['status', '--short'], { cwd: checkout, encoding: 'utf8' }),
    '?? .gitignore\n?? a.ts\n',
  );
});

test('the table shows the slowest file first and says which passed at the second try', () => {
  const slow = { ...result('slow.e2e.ts', 0, 2), seconds: 80 };
  const lines = table([result('quick.e2e.ts', 1), slow]).split('\n');
  assert.match(lines[1]!, /^ +80 +4 +0 +0 {2}slow\.e2e\.ts \(at the second try\)$/);
  assert.match(lines[2]!, /^ +3 +4 +1 +0 {2}quick\.e2e\.ts$/);
  assert.match(lines[3]!, /^ +83 {2}in 2 files$/);
});
