import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { it } from 'node:test';

import { cacheFolder, ensureBinaries, moduleKey } from './build.ts';
import { goModules, programNames } from './modules.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const folder = tempDir('build');

const silent = (): void => {};

it('without Go and without a cached binary it says what to install and what else would do', async () => {
  const env = { PATH: folder, XDG_CACHE_HOME: path.join(folder, 'empty') };
  await assert.rejects(ensureBinaries(['kube-apiserver'], { env, progress: silent }), (error: Error) => {
    assert.match(error.message, /Install Go 1\.26/);
    assert.match(error.message, /KUBEBUILDER_ASSETS/);
    return true;
  });
});

it('a cached binary is used as it is, even where there is no Go', async () => {
  const env = { PATH: folder, XDG_CACHE_HOME: path.join(folder, 'cache') };
  const kwok = goModules().find((module) => module.name === 'kwok');
  assert.ok(kwok !== undefined);
  const built = path.join(cacheFolder(env), `kwok-${moduleKey(kwok)}`);
  await mkdir(built, { recursive: true });
  assert.deepEqual(await ensureBinaries(['kwok'], { env, progress: silent }), { kwok: path.join(built, 'kwok') });
});

it('KUBEBUILDER_ASSETS gives etcd, kube-apiserver and kubectl without a build', async () => {
  const assets = path.join(folder, 'assets');
  await mkdir(assets);
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) {
    await writeFile(path.join(assets, name), '#!/bin/sh\n', { mode: 0o755 });
  }
  const env = { PATH: folder, XDG_CACHE_HOME: path.join(folder, 'empty'), KUBEBUILDER_ASSETS: assets };
  assert.deepEqual(await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl'], { env, progress: silent }), {
    etcd: path.join(assets, 'etcd'),
    'kube-apiserver': path.join(assets, 'kube-apiserver'),
    kubectl: path.join(assets, 'kubectl'),
  });
});

it('KUBEBUILDER_ASSETS that lacks a program is an error that names the file', async () => {
  const env = { PATH: folder, KUBEBUILDER_ASSETS: path.join(folder, 'nowhere') };
  await assert.rejects(ensureBinaries(['etcd'], { env, progress: silent }), /nowhere.etcd is not an executable file/);
});

it('an unknown program is refused with the list of known ones', async () => {
  const env = { PATH: folder, XDG_CACHE_HOME: path.join(folder, 'empty') };
  await assert.rejects(ensureBinaries(['kubeadm'], { env, progress: silent }), /no program "kubeadm".*kube-apiserver/);
});

it('every program comes from exactly one module', () => {
  const names = programNames('all');
  assert.equal(new Set(names).size, names.length);
});
