import assert from 'node:assert/strict';
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ConfigurationError } from '../../../lib/configuration-error.ts';
import { createClusterStore } from '../../../model/store.ts';
import { until } from '../../../kube/client/hub.fixture.ts';
import { startKubeconfigSource, type KubeconfigSourceOptions } from './kubeconfig.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

/** A kubeconfig with one context. */
function kubeconfig(name: string, host = name): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: `https://${host}` } }],
    users: [{ name: 'u', user: { token: `token-of-${name}` } }],
    contexts: [{ name, context: { cluster: 'c', user: 'u' } }],
  });
}

async function scene(t: TestContext) {
  const root = tempDir('kubeconfigs');
  const folder = join(root, 'clusters');
  await mkdir(folder);
  const store = createClusterStore();
  const reported: string[] = [];
  return {
    root,
    folder,
    store,
    reported,
    at: (name: string): string => join(folder, name),
    names: () => store.list().map(({ spec }) => spec.name),
    async start(files: readonly string[] = [folder], options: Partial<KubeconfigSourceOptions> = {}) {
      const source = await startKubeconfigSource({
        files,
        store,
        watch: { pollMs: 15, restMs: 5 },
        onProblem: ({ message, stale }) =>
          void reported.push(`${stale ? 'stale ' : ''}${message.replaceAll(root, '')}`),
        onRecovered: () => void reported.push('recovered'),
        ...options,
      });
      t.after(() => source.close());
      return source;
    },
  };
}

test('a folder stands for every regular file in it, by name; what is hidden, a folder or a dangling link is not meant', async (t) => {
  const { root, at, start, store, names, folder } = await scene(t);
  await writeFile(at('b'), kubeconfig('same', 'second'));
  await writeFile(at('a.yaml'), kubeconfig('same', 'first'));
  await writeFile(at('.hidden'), 'users: 1');
  await mkdir(at('folder'));
  await writeFile(join(root, 'outside'), kubeconfig('outside'));
  await symlink(join(root, 'outside'), at('link'));
  await symlink(join(root, 'nowhere'), at('dangling'));
  await writeFile(join(root, 'named'), kubeconfig('named'));
  await start([join(root, 'named'), folder, at('b')]);
  assert.deepEqual(names(), ['named', 'outside', 'same', 'same-conflict-2']);
  assert.equal(store.get('same')?.spec.endpoint?.host, 'first');
});

test('files that come, change and go in a folder are clusters that come, change and go', async (t) => {
  const { at, start, store, names, reported } = await scene(t);
  await start();
  assert.deepEqual(names(), []);
  await writeFile(at('one'), kubeconfig('one'));
  await writeFile(at('two'), kubeconfig('two'));
  await until(() => names().join() === 'one,two');
  const two = store.get('two');
  await writeFile(at('.new'), kubeconfig('one', 'elsewhere'));
  await rename(at('.new'), at('one'));
  await until(() => store.get('one')?.spec.endpoint?.host === 'elsewhere');
  await rm(at('one'));
  await until(() => names().join() === 'two');
  assert.equal(store.get('two'), two, 'the very same record');
  await rename(at('two'), at('renamed'));
  await until(() => store.get('two')?.spec.sourceDetail.includes('renamed') === true);
  assert.deepEqual(reported, []);
});

test('a file of a folder that cannot be parsed is reported and does not keep the others away, neither at start nor later', async (t) => {
  const { at, start, names, reported, store } = await scene(t);
  await writeFile(at('bad'), 'users: 1\nx: hunter2');
  await writeFile(at('good'), kubeconfig('good'));
  const source = await start();
  assert.deepEqual(names(), ['good']);
  assert.deepEqual(reported, ['/clusters/bad:1:8: users: must be a list']);
  await writeFile(at('bad'), kubeconfig('mended'));
  await until(() => names().join() === 'good,mended');
  await writeFile(at('good'), '{');
  await until(() => reported.length === 3);
  assert.match(reported[2] ?? '', /^stale \/clusters\/good:/);
  assert.ok(store.get('good') !== undefined, 'the last good state is served');
  assert.equal(source.problems().length, 1);
  await rm(at('good'));
  await until(() => names().join() === 'mended');
  await until(() => source.problems().length === 0);
});

test('a folder that goes away or cannot be read keeps what it held, and is followed again when it is back', async (t) => {
  const { root, folder, at, start, names, reported } = await scene(t);
  await writeFile(at('one'), kubeconfig('one'));
  await start();
  await rename(folder, join(root, 'moved'));
  await until(() => reported.some((line) => line.includes('the folder cannot be read (ENOENT)')));
  assert.deepEqual(names(), ['one']);
  await mkdir(folder);
  await writeFile(at('two'), kubeconfig('two'));
  await until(() => names().join() === 'two');
  await assert.rejects(start([join(root, 'gone')]), ConfigurationError);
  await chmod(folder, 0o700);
});

test('a mounted Secret is read through its links, and a swap of its data is one change', async (t) => {
  const { folder, at, start, names } = await scene(t);
  const write = async (version: string, files: Readonly<Record<string, string>>): Promise<void> => {
    await mkdir(join(folder, version));
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, version, name), text);
    await symlink(version, at('..new'));
    await rename(at('..new'), at('..data'));
  };
  await write('..1', { a: kubeconfig('a'), b: kubeconfig('b') });
  await symlink('..data/a', at('a'));
  await symlink('..data/b', at('b'));
  await start();
  assert.deepEqual(names(), ['a', 'b']);
  await write('..2', { a: kubeconfig('a2'), b: kubeconfig('b2') });
  await until(() => names().join() === 'a2,b2');
});
