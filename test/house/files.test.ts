// What holds for every file: at most 400 lines, kebab-case names, an opening sentence, no forbidden words in names.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { test } from 'node:test';
import { sourceFiles as files, textOf } from './sources.ts';

test('no file is longer than 400 lines', () => {
  assert.ok(files.length > 50);
  const long = files
    .map((file) => [file, textOf(file).split('\n').length - 1] as const)
    .filter(([, lines]) => lines > 400);
  assert.deepEqual(long, []);
});

test('file names are kebab-case nouns without the forbidden words', () => {
  const forbidden = /^(?:manager|helpers?|utils?|common|service|base|context|middleware|backend|misc)(?:\.|-|$)/;
  const odd = files.filter(
    (file) =>
      !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+)*\.tsx?$/.test(basename(file)) || forbidden.test(basename(file)),
  );
  assert.deepEqual(odd, []);
});

test('every file opens with what it is for', () => {
  const silent = files.filter((file) => !file.endsWith('.test.ts') && !/^(?:#!.*\n)?\/\/ \S/.test(textOf(file)));
  assert.deepEqual(silent, []);
});
