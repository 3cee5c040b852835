// A release as a user gets it: the tarball of `npm pack`, installed with the system's npm into an empty folder, and the
// archive with a Node of its own. Nothing of the checkout may be found from there: no sources, no modules, no pinned
// Node on the path.
// Landing tier: a release installs and runs without the checkout.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { ensureBinaries } from '../controlplane/build.ts';
import { freePort, runCommand, startChild } from '../controlplane/processes.ts';
import type { Child } from '../controlplane/processes.ts';
import { eventually } from '../site/polling.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const folder = tempDir('release');
const prefix = join(folder, 'prefix');
const empty = join(folder, 'empty');
const portcullis = join(prefix, 'bin/portcullis');
const tarball = join(folder, `portcullis-${version}.tgz`);
// The Node of the system, and not the one that npm puts in front of it for scripts.
const systemPath = (process.env['PATH'] ?? '').split(delimiter).filter((each) => !each.includes('node_modules'));
const env = { PATH: systemPath.join(delimiter), XDG_STATE_HOME: join(folder, 'state') };
const children: Child[] = [];

async function run(command: string, args: readonly string[], cwd = empty): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command, args, { cwd, env, timeoutMs: 300_000 });
  assert.equal(code, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Starts the installed program; what it has printed so far can be asked for. */
function start(name: string, args: readonly string[]): { readonly child: Child; readonly printed: () => string } {
  const logFile = join(folder, `${name}.log`);
  const child = startChild({ name, command: portcullis, args, logFile, cwd: empty, env });
  children.push(child);
  return { child, printed: () => readFileSync(logFile, 'utf8') };
}

async function untilPrinted(program: ReturnType<typeof start>, text: string): Promise<void> {
  await eventually(
    `"${text}" is printed`,
    () => {
      assert.ok(program.child.running(), program.printed());
      return program.printed().includes(text);
    },
    { timeoutMs: 60_000 },
  );
}

function get(url: string, ca: Buffer, token?: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    request(url, { ca, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    })
      .on('error', reject)
      .end();
  });
}

before(async () => {
  mkdirSync(empty);
  await run('npm', ['pack', '--pack-destination', folder], root);
  await run('npm', ['install', '--global', '--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund', tarball]);
});

after(async () => {
  await Promise.all(children.map((child) => child.stop()));
});

test('the tarball holds the built program, its data and its lock file, and no tests or sources', async (t) => {
  const files = (await run('tar', ['-tzf', tarball])).trim().split('\n');
  assert.ok(files.length > 500);
  assert.deepEqual(
    files.filter((file) => /\.ts$|\.test\.|\.fixture\.|\/(?:test|bench|fixtures)\//.test(file)),
    [],
  );
  for (const file of [
    'LICENSE',
    'CHANGELOG.md',
    'npm-shrinkwrap.json',
    'bin/portcullis.mjs',
    'dist/bin/program.js',
    'dist/sim/schema/kubernetes.json.gz',
    'dist/console/assets/index.html',
    'dist/console/assets/licences.txt',
  ])
    assert.ok(files.includes(`package/${file}`), file);
  t.diagnostic(`tarball: ${statSync(tarball).size} bytes, ${files.length} files`);
  t.diagnostic(`installed, with Node: ${(await run('du', ['-sk', prefix])).split('\t')[0]} KiB`);
});

test('the installed program says its version, under both names, on its own Node where that of the system is too old', async (t) => {
  assert.equal(await run(portcullis, ['--version']), `${version}\n`);
  const said = JSON.parse(await run(portcullis, ['version', '-o', 'json'])) as { portcullis: string; node: string };
  assert.equal(said.portcullis, version);
  const system = (await run('node', ['--version'])).trim();
  t.diagnostic(`Node of the system ${system}, Node that runs v${said.node}`);
  assert.ok(Number(said.node.split('.')[0]) >= 24);
  assert.match(await run(join(prefix, 'bin/kubectl-portcullis'), ['get', '--help']), /^Usage: kubectl portcullis get/);
});

test('the program runs from a project that depends on it', async () => {
  const project = join(folder, 'project');
  mkdirSync(project);
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], project);
  assert.equal(await run(join(project, 'node_modules/.bin/portcullis'), ['--version']), `${version}\n`);
});

test('help and completion of the installed program are those of the checkout', async () => {
  const checkout = join(root, 'bin/portcullis.mjs');
  for (const args of [['--help'], ['serve', '--help'], ['completion', 'bash']])
    assert.equal(await run(portcullis, args), await run(process.execPath, [checkout, ...args]), args.join(' '));
});

test('the installed demo runs in an empty folder, kubectl works through it, and Ctrl-C ends it', async () => {
  const { kubectl } = await ensureBinaries(['kubectl'], { progress: () => undefined });
  const demo = start('demo', ['demo', '--listen', '127.0.0.1:0', '--ops-listen', '127.0.0.1:0']);
  await untilPrinted(demo, 'Ctrl-C stops everything.');
  const [, file = ''] = /export KUBECONFIG='(.*)'/.exec(demo.printed())!;
  const pods = await run(kubectl!, ['--kubeconfig', file, '--context', 'portcullis-frankfurt', 'get', 'pods', '-A']);
  assert.match(pods, /checkout-.*Running/);
  // The index works in threads, whose files have to be found.
  const all = await eventually(
    'all clusters are in the index',
    async () => {
      const args = ['--kubeconfig', file, '--context', 'portcullis-all', 'get', 'deployments', '-A'];
      const { stdout } = await runCommand(kubectl!, args, { cwd: empty, env, timeoutMs: 30_000 });
      return ['frankfurt', 'virginia', 'staging'].every((name) => stdout.includes(name)) && stdout;
    },
    { timeoutMs: 60_000 },
  );
  assert.match(all, /checkout/);

  interface Kubeconfig {
    readonly clusters: readonly { readonly cluster: { readonly server: string; 'certificate-authority': string } }[];
    readonly users: readonly { readonly user: { readonly token: string } }[];
  }
  const { clusters, users } = parse(readFileSync(file, 'utf8')) as Kubeconfig;
  const [{ cluster } = assert.fail()] = clusters;
  const [{ user } = assert.fail()] = users;
  const answer = await get(`${cluster.server}/version`, readFileSync(cluster['certificate-authority']), user.token);
  assert.equal(answer.status, 200);
  assert.ok(answer.text.includes(version), answer.text);
  const contexts = await run(portcullis, [
    'kubeconfig',
    ...['--server', cluster.server, '--certificate-authority', cluster['certificate-authority']],
    ...['--token', user.token, '--all'],
  ]);
  assert.match(contexts, /name: portcullis-virginia/);

  demo.child.signal('SIGINT');
  await demo.child.ended;
  assert.match(demo.printed(), /Stopping\.\n$/);
});

test('the installed gateway serves with several processes', async () => {
  const tokens = join(folder, 'tokens.csv');
  writeFileSync(tokens, 'secret,alice,1\n');
  const members = join(folder, 'members.kubeconfig');
  const member = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
  writeFileSync(members, JSON.stringify(member));
  const state = join(folder, 'serve');
  const address = `127.0.0.1:${await freePort()}`;
  const gateway = start('serve', [
    ...['serve', '--workers', '2', '--listen', address, '--ops-listen', '127.0.0.1:0', '--data-dir', state],
    ...['--kubeconfig', members, '--token-auth-file', tokens],
  ]);
  await untilPrinted(gateway, '"msg":"serving"');
  assert.equal((await get(`https://${address}/readyz`, readFileSync(join(state, 'ca.crt')))).status, 200);
  gateway.child.signal('SIGTERM');
  await gateway.child.ended;
  // The end of a process may be known before its last line was read.
  await eventually('it has drained', () => /"msg":"drained"/.test(gateway.printed()));
});

test('the archive with a Node of its own runs by a link, and krew is told its hash', async (t) => {
  const cpu = process.arch === 'arm64' ? 'arm64' : 'x64';
  const out = join(folder, `kubectl-portcullis-${process.platform}-${cpu}.tar.gz`);
  await run(join(root, 'packaging/archive.sh'), [tarball, process.platform, cpu, out]);
  t.diagnostic(`archive: ${statSync(out).size} bytes`);
  await run('tar', ['-xzf', out, '-C', empty]);
  const link = join(folder, 'kubectl-portcullis');
  symlinkSync(join(empty, 'kubectl-portcullis/kubectl-portcullis'), link);
  const said = JSON.parse(await run(link, ['version', '-o', 'json'])) as object;
  assert.deepEqual(said, { portcullis: version, node: readFileSync(join(root, '.nvmrc'), 'utf8').trim() });

  for (const platform of ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']) {
    const archive = join(folder, `kubectl-portcullis-${platform}.tar.gz`);
    if (archive !== out) cpSync(tarball, archive);
  }
  const filled = await run(join(root, 'packaging/krew/fill.sh'), [version, 'owner/repository', folder]);
  assert.doesNotMatch(filled, /\{\{|^#/m);
  interface Manifest {
    readonly spec: { readonly version: string; readonly platforms: readonly { uri: string; sha256: string }[] };
  }
  const { spec } = parse(filled) as Manifest;
  assert.equal(spec.version, `v${version}`);
  assert.equal(spec.platforms.length, 4);
  const ours = spec.platforms.find(({ uri }) => uri.endsWith(`${process.platform}-${cpu}.tar.gz`))!;
  const [hash = ''] = (await run('sha256sum', [out])).split(' ');
  assert.equal(ours.sha256, hash);
});
