// The first work by the page alone: the commands of the how-to pages are executed word for word by a shell, from a hub
// without anything to a work that is applied in a cluster that has joined.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { blocksOf } from '../../house/pages.ts';
import { eventually, read } from './works-site.ts';

const root = path.join(import.meta.dirname, '../../..');
const definitions = {
  '0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml': 'test/hub/crds/managedclusters.yaml',
  '0000_00_work.open-cluster-management.io_manifestworks.crd.yaml': 'test/hub/works/manifestworks.yaml',
  '0000_01_work.open-cluster-management.io_appliedmanifestworks.crd.yaml': 'test/hub/works/appliedmanifestworks.yaml',
};
let plane: ControlPlane;
let hub: Member;
let edge: Member;
let folder: string;
let shell: Shell;

before(async () => {
  plane = await startControlPlane({ controllerManager: true, members: ['hub', 'edge-1'], bare: ['hub'] });
  [hub, edge] = [plane.member('hub'), plane.member('edge-1')];
  folder = path.join(plane.dir, 'first-run');
  mkdirSync(folder);
  copyFileSync(hub.adminKubeconfig, path.join(folder, 'hub.kubeconfig'));
  // The page of joining needs one that has its certificates in it.
  const { stdout } = await edge.kubectl(['config', 'view', '--raw', '--flatten', '--minify']);
  writeFileSync(path.join(folder, 'edge-1.kubeconfig'), stdout, { mode: 0o600 });
  for (const [name, file] of Object.entries(definitions)) copyFileSync(path.join(root, file), path.join(folder, name));
  shell = startShell(folder, path.dirname(plane.binaries['kubectl']!));
});

after(async () => {
  await shell?.stop();
  await plane?.stop();
});

interface Shell {
  /** Runs a script, and returns what it printed. @throws when one of its commands fails */
  run(script: string): Promise<string>;
  stop(): Promise<void>;
}

/**
 * One shell for all blocks, as a reader has it. The program is found as `portcullis`. It gets free ports, since its
 * usual ones may be taken on this machine, and may reach the cluster, which is on this machine, too.
 */
function startShell(cwd: string, kubectlFolder: string): Shell {
  const bin = path.join(cwd, 'bin');
  mkdirSync(bin);
  const program = `${JSON.stringify(process.execPath)} ${JSON.stringify(path.join(root, 'bin/portcullis.mjs'))}`;
  const free =
    '--listen 127.0.0.1:0 --ops-listen 127.0.0.1:0 --data-dir "$PWD/data" --allow-member-addresses 127.0.0.0/8';
  writeFileSync(
    path.join(bin, 'portcullis'),
    `#!/bin/sh\ncase "$1" in serve) exec ${program} "$@" ${free} > serve.log 2>&1;; *) exec ${program} "$@";; esac\n`,
  );
  chmodSync(path.join(bin, 'portcullis'), 0o755);
  const env = { PATH: `${bin}:${kubectlFolder}:${process.env['PATH']}`, HOME: cwd };
  const child = spawn('bash', ['-e'], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdin.on('error', () => {});
  let blocks = 0;
  return {
    async run(script) {
      const mark = `block ${(blocks += 1)} is done`;
      const begin = output.length;
      child.stdin.write(`${script}\necho '${mark}'\n`);
      await eventually(mark, async () => {
        assert.equal(child.exitCode, null, `a command failed in:\n${script}\n${output.slice(begin)}${errors}`);
        return output.includes(mark);
      }).catch((error: unknown) => {
        throw new Error(`${script}\n${output.slice(begin)}${errors}\n${String(error)}`, { cause: error });
      });
      return output.slice(begin, output.indexOf(mark));
    },
    async stop() {
      // The shell's whole group: the gateway is in it.
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      await ended;
    },
  };
}

/** The blocks of shell commands of one section of a page. */
function commandsOf(page: string, section: string): readonly string[] {
  const text = readFileSync(path.join(root, 'docs/how-to', page), 'utf8');
  const begin = text.indexOf(`\n## ${section}\n`);
  assert.ok(begin >= 0, `${page} has a section ${section}`);
  const end = text.indexOf('\n## ', begin + 1);
  const blocks = blocksOf(text.slice(begin, end < 0 ? undefined : end));
  return blocks.filter(({ language }) => language === 'sh').map((block) => block.text);
}

test('the commands of the pages lead from an empty hub to a work that is applied in a cluster that has joined', async () => {
  const [prepare, serve, ...rest] = commandsOf('distribute.md', 'The first work, step by step');
  assert.equal(rest.length, 2);
  await shell.run(prepare!);
  await shell.run(serve!);
  // The page of joining first: the cluster joins by an object, and leaves.
  const [join] = commandsOf('join-a-cluster.md', 'Join');
  await shell.run(join!);
  assert.ok(await read(edge, '/api/v1/namespaces/portcullis-system/serviceaccounts/portcullis-gateway'));
  await shell.run(commandsOf('join-a-cluster.md', 'Leave')[0]!);
  await eventually(
    'the cluster is left clean',
    async () => (await read(edge, '/api/v1/namespaces/portcullis-system')) === undefined,
  );
  await shell.run(rest[0]!);
  const output = await shell.run(rest[1]!);
  assert.match(output, /hello.*edge-1 +hello +(Ready|Progressing) /s);
  const object = await read(edge, '/api/v1/namespaces/shop/configmaps/hello');
  assert.deepEqual(object.data, { greeting: 'hello' });
  assert.equal(object.metadata.managedFields[0].manager, 'work-agent');
  const writers = (await edge.audit()).filter(
    ({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'configmaps' && objectRef.name === 'hello',
  );
  assert.deepEqual(
    writers.map(({ impersonatedUser }) => impersonatedUser?.username),
    ['system:serviceaccount:shop:deployer'],
  );
});
