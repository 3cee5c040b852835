import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildMissingConsole } from './console-files.ts';
import { tempDir } from '../test/pretend/temp-dir.ts';

const folder = tempDir('console');

test('a checkout builds the console when it is first served, and not again', async () => {
  const built: string[] = [];
  const notes: string[] = [];
  const note = (line: string): void => void notes.push(line);
  const build = async (script: string): Promise<number> => {
    built.push(script);
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'assets/index.html'), '');
    return 0;
  };
  await buildMissingConsole({ folder, build, note });
  assert.deepEqual(built, [], 'a release has no sources to build from');
  writeFileSync(join(folder, 'build.ts'), '');
  await buildMissingConsole({ folder, build, note });
  await buildMissingConsole({ folder, build, note });
  assert.deepEqual(built, [join(folder, 'build.ts')]);
  assert.equal(notes.length, 1);
});

test('a console that cannot be built is told, and does not end the command', async () => {
  rmSync(join(folder, 'assets'), { recursive: true, force: true });
  writeFileSync(join(folder, 'build.ts'), '');
  const notes: string[] = [];
  await buildMissingConsole({ folder, build: async () => 1, note: (line) => void notes.push(line) });
  assert.match(notes.at(-1)!, /could not be built/);
});
