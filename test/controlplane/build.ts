// Builds the Go programs of the real control planes once, into a cache outside the tree keyed by everything that goes
// into a binary, and only when missing. Two test runs may want the same binary at the same moment, hence the lock and
// the rename at the end.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { goModules, programNames, type GoModule } from './modules.ts';

/** Programs that a KUBEBUILDER_ASSETS folder may give instead. */
const assetPrograms = new Set(['etcd', 'kube-apiserver', 'kubectl']);
const lockPollMs = 500;
const progressEveryMs = 10_000;

export interface BuildOptions {
  /** Where progress lines go. Default: standard error. */
  readonly progress?: (line: string) => void;
  /** Environment to read KUBEBUILDER_ASSETS, XDG_CACHE_HOME and PATH from. Default: the process's own. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Folder that holds the built binaries: `$XDG_CACHE_HOME/portcullis` or `~/.cache/portcullis`. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  const root = env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache');
  return path.join(root, 'portcullis', 'controlplane');
}

/**
 * Absolute paths of the programs asked for, built first where missing. A module's name (`controlplane`) stands for all
 * its programs. Throws when a name is unknown, when Go is needed and not installed, or with the compiler's own words
 * when a build fails.
 */
export async function ensureBinaries(
  names: readonly string[],
  options: BuildOptions = {},
): Promise<Readonly<Record<string, string>>> {
  const env = options.env ?? process.env;
  const progress = options.progress ?? ((line: string) => process.stderr.write(`${line}\n`));
  const modules = goModules();
  const wanted = new Set(names.flatMap((name) => modules.find((module) => module.name === name)?.programs ?? [name]));
  const paths: Record<string, string> = {};
  for (const program of wanted) {
    const asset = assetPath(program, env);
    if (asset !== undefined) paths[program] = asset;
  }
  for (const program of wanted) {
    if (paths[program] !== undefined) continue;
    const module = modules.find((candidate) => candidate.programs.includes(program));
    if (module === undefined) {
      throw new Error(`no program "${program}" here; known: ${programNames('all').join(', ')}`);
    }
    const folder = await ensureModule(module, env, progress);
    for (const each of module.programs) {
      if (wanted.has(each)) paths[each] ??= path.join(folder, each);
    }
  }
  return paths;
}

function assetPath(program: string, env: NodeJS.ProcessEnv): string | undefined {
  const folder = env['KUBEBUILDER_ASSETS'];
  if (!folder || !assetPrograms.has(program)) return undefined;
  const file = path.resolve(folder, program);
  try {
    accessSync(file, constants.X_OK);
  } catch (cause) {
    throw new Error(`KUBEBUILDER_ASSETS is set, but ${file} is not an executable file`, { cause });
  }
  return file;
}

/** Hash over all that decides the binary: sources, go.mod, go.sum, flags, platform. */
export function moduleKey(module: GoModule): string {
  const folder = path.join(import.meta.dirname, module.folder);
  const hash = createHash('sha256');
  const files = readdirSync(folder)
    .filter((file) => /\.go$|^go\.(?:mod|sum)$/.test(file) && !file.endsWith('_test.go'))
    .sort();
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(path.join(folder, file)))
      .update('\0');
  hash.update(JSON.stringify([module.target, module.ldflags, process.platform, process.arch]));
  return hash.digest('hex').slice(0, 16);
}

async function ensureModule(
  module: GoModule,
  env: NodeJS.ProcessEnv,
  progress: (line: string) => void,
): Promise<string> {
  const cache = cacheFolder(env);
  const folder = path.join(cache, `${module.name}-${moduleKey(module)}`);
  if (existsSync(folder)) return folder;
  requireGo(module, env);
  await mkdir(cache, { recursive: true });
  const release = await takeLock(`${folder}.lock`, () => existsSync(folder), progress);
  try {
    if (!existsSync(folder)) await build(module, folder, env, progress);
  } finally {
    await release();
  }
  return folder;
}

function requireGo(module: GoModule, env: NodeJS.ProcessEnv): void {
  const found = spawnSync('go', ['version'], { env, stdio: 'ignore' });
  if (found.status === 0) return;
  throw new Error(
    `${module.programs.join(', ')}: not built yet, and no \`go\` on PATH to build them with. ` +
      'Install Go 1.26 or newer (go.dev/dl), or point KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl ' +
      '(enough for members without controller manager, kubelet and kwok).',
  );
}

async function build(
  module: GoModule,
  folder: string,
  env: NodeJS.ProcessEnv,
  progress: (line: string) => void,
): Promise<void> {
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  const binary = path.join(partial, module.name);
  const started = Date.now();
  progress(`${module.name}: building (${module.coldBuild} when nothing is cached, seconds otherwise)`);
  const ldflags = ['-s', '-w', ...module.ldflags].join(' ');
  const args = ['build', '-v', '-trimpath', '-buildvcs=false', '-mod=readonly', `-ldflags=${ldflags}`];
  await goBuild([...args, '-o', binary, module.target], module, env, (packages) => {
    progress(`${module.name}: ${packages} packages compiled, ${seconds(started)} s`);
  });
  for (const program of module.programs) {
    if (program !== module.name) await symlink(module.name, path.join(partial, program));
  }
  await rename(partial, folder);
  const megabytes = Math.round(statSync(path.join(folder, module.name)).size / 1e6);
  progress(`${module.name}: built in ${seconds(started)} s, ${megabytes} MB`);
}

function seconds(startedMs: number): number {
  return Math.round((Date.now() - startedMs) / 1000);
}

function goBuild(
  args: readonly string[],
  module: GoModule,
  env: NodeJS.ProcessEnv,
  report: (packages: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, {
      cwd: path.join(import.meta.dirname, module.folder),
      env: { ...env, GOWORK: 'off' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let packages = 0;
    let tail = '';
    const timer = setInterval(() => report(packages), progressEveryMs);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      packages += text.split('\n').length - 1;
      tail = (tail + text).slice(-4000);
    });
    child.once('error', (cause) => {
      clearInterval(timer);
      reject(new Error(`cannot run go: ${cause.message}`, { cause }));
    });
    child.once('close', (code) => {
      clearInterval(timer);
      if (code === 0) resolve();
      else reject(new Error(`go build of ${module.folder} ended with ${code ?? 'a signal'}:\n${tail}`));
    });
  });
}

/**
 * A lock file naming its owner's pid; an owner that no longer exists loses it. Returns the function that gives it back.
 */
async function takeLock(
  file: string,
  done: () => boolean,
  progress: (line: string) => void,
): Promise<() => Promise<void>> {
  let reported = false;
  for (;;) {
    try {
      await writeFile(file, String(process.pid), { flag: 'wx' });
      return () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (done()) return () => Promise.resolve();
    const owner = lockOwner(file);
    if (owner !== undefined && !alive(owner)) {
      await rm(file, { force: true });
      continue;
    }
    if (!reported) progress(`waiting for another process (pid ${owner ?? 'unknown'}) that builds the same`);
    reported = true;
    await delay(lockPollMs);
  }
}

function lockOwner(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

if (import.meta.main) {
  const names = process.argv.length > 2 ? process.argv.slice(2) : goModules().map((module) => module.name);
  for (const [name, file] of Object.entries(await ensureBinaries(names))) console.log(`${name}\t${file}`);
}
