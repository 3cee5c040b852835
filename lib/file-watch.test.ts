import assert from 'node:assert/strict';
import { appendFile, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { lookAt, watchFiles, type FileWatchOptions } from './file-watch.ts';
import { tempDir } from '../test/pretend/temp-dir.ts';

const limit = { timeout: 20_000 };

/** A watch whose changes can be awaited one by one; `onChange` looks at the files anew, as a reader would. */
async function watched(t: TestContext, files: readonly string[], options: Omit<FileWatchOptions, 'onChange'>) {
  let count = 0;
  let waiting: (() => void)[] = [];
  const read = async (): Promise<void> => {
    watch.setFiles(new Map(await Promise.all(files.map(async (file) => [file, await lookAt(file)] as const))));
  };
  const watch = watchFiles({
    ...options,
    onChange: async () => {
      await read();
      count += 1;
      for (const wake of waiting) wake();
      waiting = [];
    },
  });
  await read();
  // The watch itself does not keep the process alive.
  const alive = setInterval(() => undefined, 1_000);
  t.after(() => {
    clearInterval(alive);
    watch.close();
  });
  return {
    watch,
    count: () => count,
    next: () => new Promise<void>((resolve) => void waiting.push(resolve)),
  };
}

const polling = { notices: false, pollMs: 10, restMs: 5 };
const noticing = { pollMs: 3_600_000, restMs: 5 };

for (const [name, options] of [
  ['the poll', polling],
  ['a notice', noticing],
] as const) {
  test(`${name} finds files written in place, replaced, removed and created`, limit, async (t) => {
    const folder = tempDir('watch');
    const [one, two] = [join(folder, 'one'), join(folder, 'two')];
    await writeFile(one, 'a');
    const { next } = await watched(t, [one, two], options);
    const changes: readonly (() => Promise<void>)[] = [
      // Another size: two writes within one tick of the file system's clock cannot be told apart otherwise.
      () => writeFile(one, 'bb'),
      () => appendFile(one, 'c'),
      async () => {
        await writeFile(`${one}.new`, 'bbc');
        await rename(`${one}.new`, one);
      },
      () => rm(one),
      () => writeFile(one, 'back'),
      () => writeFile(two, 'now there'),
      () => utimes(one, 1, 1),
    ];
    for (const change of changes) {
      const noticed = next();
      await change();
      await noticed;
    }
  });

  test(`${name} finds the swap of a Secret volume`, limit, async (t) => {
    const folder = tempDir('watch');
    for (const version of ['..1', '..2']) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, 'token'), 'same size');
    }
    await symlink('..1', join(folder, '..data'));
    await symlink('..data/token', join(folder, 'token'));
    // The targets are watched, too, so that the folders are the same before and after and only the swap can be noticed.
    const files = ['token', '..1/token', '..2/token'].map((name) => join(folder, name));
    const { next } = await watched(t, files, options);
    for (const version of ['..2', '..1', '..2']) {
      const noticed = next();
      await symlink(version, join(folder, '..data_tmp'));
      await rename(join(folder, '..data_tmp'), join(folder, '..data'));
      await noticed;
    }
  });
}

/** A watch of one file with a given state for each look; returns after how many looks the change was reported. */
async function looksUntilReported(states: (look: number) => string): Promise<number> {
  let looks = 0;
  const alive = setInterval(() => undefined, 1_000);
  try {
    return await new Promise<number>((resolve) => {
      const watch = watchFiles({
        notices: false,
        pollMs: 1,
        restMs: 1,
        look: async () => states(looks++),
        onChange: async () => {
          watch.close();
          resolve(looks);
        },
      });
      watch.setFiles(new Map([['/file', 'old']]));
    });
  } finally {
    clearInterval(alive);
  }
}

test('a half-written file is not reported before it rests', limit, async () => {
  const states = ['old', 'old', 'one', 'two', 'three', 'three'];
  assert.equal(await looksUntilReported((look) => states[look] ?? 'too late'), states.length);
});

test('a file that never rests is reported after four more looks', limit, async () => {
  assert.equal(await looksUntilReported((look) => `${look}`), 5);
});

test(
  'a change between reading and setFiles is found, because the state that was read is the one compared',
  limit,
  async (t) => {
    const folder = tempDir('watch');
    const file = join(folder, 'file');
    await writeFile(file, 'old');
    const { watch, next } = await watched(t, [file], polling);
    const read = await lookAt(file);
    const noticed = next();
    await writeFile(file, 'newer');
    watch.setFiles(new Map([[file, read]]));
    await noticed;
  },
);

test('after close nothing is looked at or reported', limit, async (t) => {
  const folder = tempDir('watch');
  const file = join(folder, 'file');
  await writeFile(file, '');
  let looks = 0;
  const look = async (path: string): Promise<string> => {
    looks += 1;
    return await lookAt(path);
  };
  const first = await watched(t, [file], { notices: false, pollMs: 1, restMs: 1, look });
  const second = await watched(t, [file], polling);
  first.watch.close();
  const atClose = looks;
  const noticed = second.next();
  await writeFile(file, 'x');
  await noticed;
  assert.equal(first.count(), 0);
  assert.ok(looks <= atClose + 1, 'at most the look that was under way');
});
