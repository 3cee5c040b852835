import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Terminal } from '../cli/terminal/terminal.ts';
import type { DemoOptions, LongRunningVerbs, ServeOptions } from './verbs.ts';
import type { CheckOptions } from './verbs.ts';
import { makeProgram, run } from './program.ts';
import { tempDir } from '../test/pretend/temp-dir.ts';

interface Outcome {
  readonly code: number;
  readonly printed: string;
  readonly noted: string;
  readonly served: ServeOptions | undefined;
  readonly shown: DemoOptions | undefined;
}

/** Runs a command line whose long-running verbs only remember their options. */
async function outcome(args: readonly string[], verbs: Partial<LongRunningVerbs> = {}): Promise<Outcome> {
  let printed = '';
  let noted = '';
  let served: ServeOptions | undefined;
  let shown: DemoOptions | undefined;
  const terminal: Terminal = {
    env: {},
    homeDir: '/nonexistent',
    nowMs: () => 0,
    print: (text) => void (printed += text),
    note: (text) => void (noted += text),
  };
  const remembering: LongRunningVerbs = {
    serve: async (options) => void (served = options),
    demo: async (options) => void (shown = options),
    check: async () => {},
    ...verbs,
  };
  const code = await run(args, remembering, terminal);
  return { code, printed, noted, served, shown };
}

test('check takes every flag of serve, passes them on alike, and ends with the code it is told', async () => {
  const serve = makeProgram({} as LongRunningVerbs, {} as Terminal).commands.find((one) => one.name() === 'serve')!;
  const args = serve.options.flatMap(({ long, required, argChoices }) =>
    long === '--feature-gates' ? [] : [long!, ...(required ? [argChoices?.[0] ?? '1'] : [])],
  );
  assert.ok(args.length > 100);
  let checked: CheckOptions | undefined;
  const check = async (options: CheckOptions): Promise<number> => {
    checked = options;
    return 2;
  };
  const { code, noted } = await outcome(['check', '--offline', '-o', 'json', ...args], { check });
  assert.equal(code, 2, noted);
  const { offline, output, ...flags } = checked!;
  assert.deepEqual([offline, output], [true, 'json']);
  assert.deepEqual(flags, (await outcome(['serve', ...args])).served);
});

test('serve passes flags on as typed and fills in no default, since a file may say otherwise', async () => {
  assert.deepEqual((await outcome(['serve'])).served, {});
  const args =
    '--config c.yaml --listen 0.0.0.0:1 --ops-listen=:2 --data-dir d --kubeconfig a --kubeconfig b --token-auth-file t.csv ' +
    '--client-ca-file ca.pem --authorization-rules r.yaml --identity self --cluster-domain gw.test --tls-cert-file crt ' +
    '--tls-private-key-file key';
  assert.deepEqual((await outcome(['serve', ...args.split(' ')])).served, {
    config: 'c.yaml',
    listen: '0.0.0.0:1',
    opsListen: ':2',
    dataDir: 'd',
    kubeconfig: ['a', 'b'],
    tokenAuthFile: 't.csv',
    clientCaFile: 'ca.pem',
    authorizationRules: 'r.yaml',
    identity: 'self',
    clusterDomain: 'gw.test',
    tlsCertFile: 'crt',
    tlsPrivateKeyFile: 'key',
  });
});

test('demo has the documented defaults', async () => {
  assert.deepEqual((await outcome(['demo'])).shown, {
    listen: '127.0.0.1:8443',
    opsListen: '127.0.0.1:8090',
    clusters: 3,
  });
  const { shown } = await outcome(['demo', '--clusters', '12', '--kubeconfig-out', 'k']);
  assert.equal(shown?.clusters, 12);
  assert.equal(shown?.kubeconfigOut, 'k');
});

test('help and version go to stdout and exit 0', async () => {
  for (const args of [['--help'], ['serve', '--help'], ['help', 'serve'], ['get', '-h'], ['--version'], ['version']]) {
    const { code, printed, noted } = await outcome(args);
    assert.deepEqual([code, noted], [0, ''], args.join(' '));
    assert.notEqual(printed, '', args.join(' '));
  }
});

test('what cannot be right exits 2 with the command that shows what can', async () => {
  const wrong: readonly (readonly [args: readonly string[], message: RegExp, step: string])[] = [
    [['sreve'], /unknown command 'sreve'\n\(Did you mean serve\?\)/, 'portcullis --help'],
    [['serve', '--lisen', 'x'], /unknown option '--lisen'\n\(Did you mean --listen\?\)/, 'portcullis serve --help'],
    [['serve', 'extra'], /too many arguments/, 'portcullis serve --help'],
    [['serve', '--identity', 'root'], /Allowed choices are impersonate, self/, 'portcullis serve --help'],
    [['demo', '--clusters', '0'], /a number from 1 to 100/, 'portcullis demo --help'],
    [['demo', '--clusters', '1e2'], /a number from 1 to 100/, 'portcullis demo --help'],
    [['get', 'pods'], /unknown command 'pods'/, 'portcullis get --help'],
    [
      ['get', 'clusters', '-o', 'name'],
      /Allowed choices are table, wide, json, yaml/,
      'portcullis get clusters --help',
    ],
    [['kubeconfig'], /'--server <url>' not specified/, 'portcullis kubeconfig --help'],
    [
      ['kubeconfig', '--server', 'x', '--all', '--cluster', 'a'],
      /cannot be used with option/,
      'portcullis kubeconfig --help',
    ],
    [
      ['kubeconfig', '--server', 'x', '--output', 'a', '--merge', 'b'],
      /cannot be used with option/,
      'portcullis kubeconfig',
    ],
    [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/, 'portcullis completion --help'],
  ];
  for (const [args, message, step] of wrong) {
    const { code, printed, noted } = await outcome(args);
    assert.deepEqual([code, printed], [2, ''], args.join(' '));
    assert.match(noted, /^portcullis: /);
    assert.match(noted, message);
    assert.ok(noted.includes(`Run "${step}`), noted);
  }
});

test('without a command the help is shown and the exit code says that nothing was done', async () => {
  for (const args of [[], ['get']]) {
    const { code, printed, noted } = await outcome(args);
    assert.deepEqual([code, printed], [2, '']);
    assert.match(noted, /^Usage: portcullis/);
  }
});

test('a mistyped flag does not repeat the secret given to it', async () => {
  const { noted } = await outcome(['kubeconfig', '--server', 'x', '--tokn=S3CRET']);
  assert.match(noted, /unknown option '--tokn'/);
  assert.doesNotMatch(noted, /S3CRET/);
});

test('the exit code of a long-running verb is its own', async () => {
  assert.equal((await outcome(['serve'], { serve: () => Promise.resolve(7) })).code, 7);
  const refused = Object.assign(new Error('port taken'), { exitCode: 2 });
  const { code, noted } = await outcome(['demo'], { demo: () => Promise.reject(refused) });
  assert.deepEqual([code, noted], [2, 'portcullis: port taken\n']);
});

test('an error nobody threw on purpose keeps its stack', async () => {
  const { code, noted } = await outcome(['serve'], { serve: () => Promise.reject(new TypeError('x is undefined')) });
  assert.equal(code, 1);
  assert.match(noted, /this is a bug.*\nTypeError: x is undefined\n +at /);
});

const executable = fileURLToPath(new URL('./portcullis.mjs', import.meta.url));

test('the executable runs under both names', () => {
  const folder = tempDir('bin');
  const plugin = join(folder, 'kubectl-portcullis');
  symlinkSync(executable, plugin);
  const direct = spawnSync(process.execPath, [executable, 'version', '-o', 'json'], { encoding: 'utf8' });
  assert.equal(direct.status, 0, direct.stderr);
  assert.deepEqual((JSON.parse(direct.stdout) as { node: string }).node, process.versions.node);
  const usage = spawnSync(process.execPath, [plugin, 'serv'], { encoding: 'utf8' });
  assert.equal(usage.status, 2);
  assert.match(usage.stderr, /Run "kubectl portcullis --help"/);
});

/**
 * Arguments of the executable in a folder where it believes to run on Node 20; `pinned` is a shell script in place of
 * the Node of npm ci.
 */
function oldNodeFolder(pinned: string | undefined): readonly string[] {
  const path = tempDir('old');
  mkdirSync(join(path, 'bin'));
  copyFileSync(executable, join(path, 'bin', 'portcullis.mjs'));
  const old = join(path, 'old.mjs');
  writeFileSync(old, `Object.defineProperty(process.versions, 'node', { value: '20.20.2' });`);
  if (pinned !== undefined) {
    mkdirSync(join(path, 'node_modules', '.bin'), { recursive: true });
    writeFileSync(join(path, 'node_modules', '.bin', 'node'), `#!/bin/sh\n${pinned}\n`, { mode: 0o755 });
  }
  return ['--import', old, join(path, 'bin', 'portcullis.mjs')];
}

test('an old Node without npm ci is told which one is needed', () => {
  const args = oldNodeFolder(undefined);
  const { status, stderr } = spawnSync(process.execPath, [...args, 'version'], { encoding: 'utf8' });
  assert.equal(status, 2);
  assert.match(stderr, /needs Node 24 or newer, this is 20\.20\.2\n.*npm ci/);
});

test('an old Node hands over to the one of npm ci, and its exit is passed on', () => {
  const args = oldNodeFolder('echo "${1##*/} $2 $3"; test "$3" = killed && kill -TERM $$; exit 3');
  const found = spawnSync(process.execPath, [...args, 'get', 'clusters'], { encoding: 'utf8' });
  assert.deepEqual([found.status, found.stdout], [3, 'portcullis.mjs get clusters\n']);
  assert.equal(spawnSync(process.execPath, [...args, 'get', 'killed']).signal, 'SIGTERM');
});

test('a signal to the old Node reaches the one of npm ci, which ends in its own way', async () => {
  const args = oldNodeFolder('trap "exit 5" TERM; echo up; for i in $(seq 1500); do sleep 0.02; done');
  const child = spawn(process.execPath, [...args, 'serve'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [5, null]);
});
