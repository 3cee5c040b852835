import assert from 'node:assert/strict';
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { editFile, replaceFile } from './atomic-file.ts';
import { Failure } from '../terminal/failure.ts';
import { makeFolder } from '../stub-gateway.fixture.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test('a new file is readable by its owner only, and missing folders are made', () => {
  const folder = makeFolder();
  const path = join(folder.path, 'a', 'b', 'config');
  replaceFile(path, 'text');
  assert.equal(readFileSync(path, 'utf8'), 'text');
  assert.equal(modeOf(path), 0o600);
  assert.equal(modeOf(join(folder.path, 'a')), 0o700);
});

test('a file that others could read is closed to them', () => {
  const folder = makeFolder();
  const path = join(folder.path, 'config');
  writeFileSync(path, 'old', { mode: 0o644 });
  replaceFile(path, 'new');
  assert.equal(modeOf(path), 0o600);
});

test('who has the old file open still reads all of it', () => {
  const folder = makeFolder();
  const path = folder.write('config', 'old text');
  const reader = openSync(path, 'r');
  try {
    replaceFile(path, 'new');
    assert.equal(readFileSync(reader, 'utf8'), 'old text');
    assert.deepEqual(readdirSync(folder.path), ['config']);
  } finally {
    closeSync(reader);
  }
});

test('a symbolic link stays, and what it points at is replaced, even before that exists', () => {
  const folder = makeFolder();
  mkdirSync(join(folder.path, 'dotfiles'));
  folder.write('dotfiles/config', 'old');
  symlinkSync('dotfiles/config', join(folder.path, 'link'));
  symlinkSync('link', join(folder.path, 'link-to-link'));
  symlinkSync('dotfiles/later', join(folder.path, 'dangling'));
  replaceFile(join(folder.path, 'link-to-link'), 'new');
  replaceFile(join(folder.path, 'dangling'), 'first');
  assert.equal(folder.read('dotfiles/config'), 'new');
  assert.equal(folder.read('dotfiles/later'), 'first');
  for (const link of ['link', 'link-to-link', 'dangling']) {
    assert.ok(lstatSync(join(folder.path, link)).isSymbolicLink(), link);
  }
  assert.deepEqual(readdirSync(join(folder.path, 'dotfiles')).sort(), ['config', 'later']);
});

test('links in a circle are a failure, not an endless loop', () => {
  const folder = makeFolder();
  symlinkSync('b', join(folder.path, 'a'));
  symlinkSync('a', join(folder.path, 'b'));
  assert.throws(() => replaceFile(join(folder.path, 'a'), 'x'), Failure);
});

test('a write that cannot end leaves nothing behind', () => {
  const folder = makeFolder();
  mkdirSync(join(folder.path, 'config'));
  assert.throws(
    () => replaceFile(join(folder.path, 'config'), 'x'),
    (error) => error instanceof Failure && error.message.startsWith(`cannot write ${folder.path}/config`),
  );
  assert.deepEqual(readdirSync(folder.path), ['config']);
});

test('an edit that fails leaves the file as it was and the lock free', () => {
  const folder = makeFolder();
  const path = folder.write('config', 'old');
  assert.throws(() =>
    editFile(path, () => {
      throw new Error('no');
    }),
  );
  assert.equal(folder.read('config'), 'old');
  assert.deepEqual(readdirSync(folder.path), ['config']);
  editFile(path, (text) => `${text} and new`);
  assert.equal(folder.read('config'), 'old and new');
});

test("kubectl's lock is respected and not removed", () => {
  const folder = makeFolder();
  const path = folder.write('config', 'old');
  folder.write('config.lock', '');
  assert.throws(
    () => editFile(path, () => 'new'),
    (error) => error instanceof Failure && error.message.includes('config.lock exists'),
  );
  assert.deepEqual(readdirSync(folder.path).sort(), ['config', 'config.lock']);
  assert.equal(folder.read('config'), 'old');
});
