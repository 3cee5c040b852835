// What holds for every file: at most 400 lines, kebab-case names, an opening sentence, no forbidden words in names.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { test } from 'node:test';

const root = new URL('../..', import.meta.url).pathname;
// In a checkout, the files of the project; elsewhere (an unpacked archive) there is nothing to ask.
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '');

test('no file is longer than 400 lines', () => {
  assert.ok(files.length > 50);
  const long = files
    .map((file) => [file, readFileSync(join(root, file), 'utf8').split('\n').length - 1] as const)
    .filter(([, lines]) => lines > 400);
  assert.deepEqual(long, []);
});

test('file names are kebab-case nouns without the forbidden words', () => {
  const forbidden = /^(?:manager|helpers?|utils?|common|service|base|context|middleware|backend|misc)(?:\.|-|$)/;
  const odd = files.filter(
    (file) => !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+)*\.ts$/.test(basename(file)) || forbidden.test(basename(file)),
  );
  assert.deepEqual(odd, []);
});

test('every file opens with what it is for', () => {
  const silent = files.filter(
    (file) => !file.endsWith('.test.ts') && !/^(?:#!.*\n)?\/\/ \S/.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.deepEqual(silent, []);
});
