// A fresh clone, `npm ci && npm start`, and every command the demo prints, run as it stands by real kubectl. A clone
// holds only what is committed, and Ctrl-C goes to npm and to the demo at once.
// Landing tier: npm start shows it working, with nothing installed but Node.
// Runs alone: it says how soon the demo stops.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';

import { ensureBinaries } from '../controlplane/build.ts';
import { freePort, runCommand } from '../controlplane/processes.ts';
import { eventually } from '../site/polling.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const root = join(import.meta.dirname, '..', '..');
/** How soon the demo is ready, of which the first start of a clone builds the console, and how soon it stops. */
const readyWithinMs = 25_000;
const stopsWithinMs = 5_000;
const folder = tempDir('demo');
let clone: string;
let searchPath: string;
let flags: readonly string[];
const running = new Set<ChildProcess>();

before(async () => {
  const { kubectl } = await ensureBinaries(['kubectl'], { progress: () => undefined });
  // Node's own folder of this checkout must not be found by the clone, which brings its own.
  const system = (process.env['PATH'] ?? '').split(delimiter).filter((each) => !each.startsWith(root));
  searchPath = [dirname(kubectl!), ...system].join(delimiter);
  clone = join(folder, 'clone');
  flags = ['--listen', `127.0.0.1:${await freePort()}`, '--ops-listen', `127.0.0.1:${await freePort()}`];
  await succeeds('git', ['clone', '--quiet', root, clone], folder);
  await succeeds('npm', ['ci', '--no-audit', '--no-fund'], clone);
});

after(() => {
  for (const child of running) process.kill(-child.pid!, 'SIGKILL');
});

async function succeeds(command: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, stderr } = await runCommand(command, args, { cwd, env: environment(), timeoutMs: 300_000 });
  assert.equal(code, 0, stderr);
}

function environment(): Record<string, string> {
  return { PATH: searchPath, XDG_STATE_HOME: join(folder, 'state') };
}

interface Started {
  readonly child: ChildProcess;
  /** Both outputs so far. */
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

/** Starts a command in a process group of its own, as a shell does for what is typed into it. */
function start(command: string, args: readonly string[], cwd: string): Started {
  const child = spawn(command, args, {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment() },
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise<number | null>((resolve) =>
    child.on('close', (code) => {
      running.delete(child);
      resolve(code);
    }),
  );
  return { child, output: () => output, ended };
}

/** `npm start`, ready. */
async function startDemo(): Promise<Started & { readonly readyMs: number }> {
  const startedMs = performance.now();
  const demo = start('npm', ['start', '--', ...flags], clone);
  await eventually(
    'the demo is ready',
    () => {
      assert.ok(running.has(demo.child), demo.output());
      return demo.output().includes('Ctrl-C stops everything.');
    },
    { timeoutMs: readyWithinMs },
  );
  return { ...demo, readyMs: performance.now() - startedMs };
}

/** Ctrl-C, and how long everything took to end. */
async function interrupt({ child, ended }: Started): Promise<number> {
  const startedMs = performance.now();
  process.kill(-child.pid!, 'SIGINT');
  await ended;
  return performance.now() - startedMs;
}

/** What is printed to be copied: the line that chooses the kubeconfig, and the commands of kubectl and Portcullis. */
function printed(output: string): { readonly setup: string; readonly commands: readonly string[] } {
  const lines = output.split('\n').filter((line) => /^ {2}(?:export|kubectl|node) /.test(line));
  const [setup = '', ...commands] = lines.map((line) => line.trim());
  assert.match(setup, /^export KUBECONFIG=/);
  return { setup, commands };
}

async function runPrinted(t: { diagnostic(text: string): void }, setup: string, command: string): Promise<void> {
  const shell = start('sh', ['-c', `${setup}; exec ${command}`], folder);
  if (command.endsWith(' -w')) {
    const lines = (): number => shell.output().split('\n').length;
    await eventually('the first rows', () => lines() > 5);
    const first = lines();
    await eventually('something changes by itself', () => lines() > first, { timeoutMs: 60_000 });
    process.kill(-shell.child.pid!, 'SIGINT');
    await shell.ended;
    return;
  }
  const timer = setTimeout(() => shell.child.kill('SIGKILL'), 60_000);
  const code = await shell.ended;
  clearTimeout(timer);
  t.diagnostic(`${code}: ${command}`);
  const refused = command.endsWith('-n kube-system');
  assert.equal(code, refused ? 1 : 0, `${command}\n${shell.output()}`);
  if (refused) assert.match(shell.output(), /Error from server \(Forbidden\): pods is forbidden: User "/);
  else assert.ok(shell.output().trim().split('\n').length >= 1 && shell.output().trim() !== '', command);
  // The cluster that goes away for a minute may be missing for a while, which a warning says.
  assert.doesNotMatch(
    shell.output(),
    /No resources found|(?:Warning|Incomplete):(?!.*(?:staging|not in the index))/,
    command,
  );
}

test('a fresh clone is ready in time, every printed command works, Ctrl-C stops it, a second start works', async (t) => {
  const first = await startDemo();
  t.diagnostic(`ready after ${Math.round(first.readyMs)} ms`);
  const { setup, commands } = printed(first.output());
  assert.ok(commands.length >= 8, `${commands.length} commands`);
  for (const command of commands) await runPrinted(t, setup, command);
  const stoppedMs = await interrupt(first);
  t.diagnostic(`stopped after ${Math.round(stoppedMs)} ms`);
  assert.ok(stoppedMs < stopsWithinMs, `stopped after ${stoppedMs} ms`);

  const second = await startDemo();
  const again = printed(second.output());
  await runPrinted(t, again.setup, again.commands[0]!);
  await runPrinted(t, again.setup, again.commands[1]!);

  // A demo that finds its port taken says so and leaves the other one alone.
  const third = start('npm', ['start', '--', ...flags], clone);
  assert.equal(await third.ended, 1, third.output());
  assert.match(third.output(), /--(?:ops-)?listen/);
  assert.match(third.output(), /in use|taken/);
  const ops = start('npm', ['start', '--', '--listen', `127.0.0.1:${await freePort()}`, ...flags.slice(2)], clone);
  assert.equal(await ops.ended, 1, ops.output());
  assert.match(ops.output(), /--ops-listen/);
  await runPrinted(t, again.setup, again.commands[1]!);
  assert.ok((await interrupt(second)) < stopsWithinMs);
});

test('a taken port of the Kubernetes listener is named with its flag', async () => {
  const demo = await startDemo();
  const taken = start('npm', ['start', '--', ...flags.slice(0, 2), '--ops-listen', '127.0.0.1:0'], clone);
  assert.equal(await taken.ended, 1, taken.output());
  assert.match(taken.output(), new RegExp(`--listen`));
  assert.ok(taken.output().includes(flags[1]!), taken.output());
  assert.ok((await interrupt(demo)) < stopsWithinMs);
});

test('npx portcullis works in the clone', async () => {
  const { code, stdout } = await runCommand('npx', ['portcullis', 'version'], { cwd: clone, env: environment() });
  assert.equal(code, 0);
  assert.match(stdout, /\d+\.\d+\.\d+/);
});
