// `tar` in a simulated container: `cf -` and `xf -`, which `kubectl cp` uses, and archives in files. A leading `/` is
// removed from names in archives. Names with `..` cannot leave the target directory.
import { posix } from 'node:path';
import { resolvePath, type ContainerFiles } from './container-files.ts';
import { put, readAll, type Process } from './process.ts';
import { decodeTar, encodeTarEntry, tarTrailer } from './tar.ts';

interface TarCall {
  readonly mode: 'c' | 'x' | 't';
  readonly archive: string;
  readonly directory: string;
  readonly members: readonly string[];
  readonly isVerbose: boolean;
}

/** Options that are ignored, because files here have only one owner, and their permissions do not matter. */
const ignoredOptions = ['--no-same-permissions', '--no-same-owner', '--no-overwrite-dir', '--numeric-owner'];

function readArguments(words: readonly string[]): TarCall {
  const letters: string[] = [];
  const members: string[] = [];
  let archive = '-';
  let directory = '';
  const rest = [...words];
  const first = rest[0] ?? '';
  if (first !== '' && !first.startsWith('-')) rest[0] = `-${first}`;
  while (rest.length > 0) {
    const word = rest.shift() ?? '';
    if (ignoredOptions.includes(word)) continue;
    if (word === '--') members.push(...rest.splice(0));
    else if (word.startsWith('--') || !word.startsWith('-') || word === '-') {
      if (word.startsWith('--')) throw new Error(`option ${word} is not simulated`);
      members.push(word);
    } else {
      for (const letter of word.slice(1)) {
        if (!'cxtfmvCpo'.includes(letter)) throw new Error(`option -${letter} is not simulated`);
        if (letter === 'f') archive = rest.shift() ?? '';
        else if (letter === 'C') directory = rest.shift() ?? '';
        else letters.push(letter);
      }
    }
  }
  const mode = (['c', 'x', 't'] as const).find((letter) => letters.includes(letter));
  if (mode === undefined) throw new Error('one of c, x, t must be given');
  return { mode, archive, directory, members, isVerbose: letters.includes('v') };
}

export async function tar(process: Process): Promise<number> {
  const call = readArguments(process.argv.slice(1));
  const base = resolvePath(process.workingDirectory, call.directory);
  const { files } = process.container;
  if (files.find(base)?.kind !== 'directory')
    throw new Error(`can't change directory to '${call.directory}': No such file or directory`);
  if (call.mode === 'c') return create(process, call, base);
  const named = call.archive === '-' ? undefined : resolvePath(process.workingDirectory, call.archive);
  const archive = named === undefined ? await readAll(process.stdin, process.signal) : files.read(named);
  for (const entry of decodeTar(archive)) {
    const name = posix.normalize(entry.name).replace(/^(\.\.?\/|\/)+/, '');
    if (call.mode === 't' || call.isVerbose) await put(process.stdout, `${entry.name}\n`);
    if (call.mode === 't' || name === '.' || name === '') continue;
    const path = posix.join(base, name);
    if (entry.kind === 'directory') {
      files.makeDirectory(path, { parents: true, mode: entry.mode });
      continue;
    }
    files.makeDirectory(posix.dirname(path), { parents: true });
    if (entry.kind === 'symlink') files.makeLink(path, entry.target);
    else files.write(path, Buffer.from(entry.data), { mode: entry.mode, modifiedAtMs: entry.modifiedAtMs });
  }
  return 0;
}

async function create(process: Process, call: TarCall, base: string): Promise<number> {
  const { files } = process.container;
  const pieces: Buffer[] = [];
  const emit = async (piece: Buffer): Promise<void> => {
    if (call.archive === '-') await put(process.stdout, piece);
    else pieces.push(piece);
  };
  let status = 0;
  for (const member of call.members) {
    if (member.startsWith('/')) await put(process.stderr, "tar: removing leading '/' from member names\n");
    const name = member.replace(/^\/+/, '').replace(/\/+$/, '');
    const path = resolvePath(base, member);
    if (files.findLink(path) === undefined) {
      await put(process.stderr, `tar: ${member}: No such file or directory\n`);
      status = 1;
      continue;
    }
    for (const [entryName, entryPath] of walk(files, name === '' ? '.' : name, path)) {
      if (process.signal.aborted) return 130;
      const node = files.findLink(entryPath);
      if (node === undefined) continue;
      if (call.isVerbose) await put(process.stderr, `${entryName}\n`);
      const data = node.kind === 'file' ? node.data : Buffer.alloc(0);
      const target = node.kind === 'symlink' ? node.target : '';
      const { kind, mode, modifiedAtMs } = node;
      await emit(encodeTarEntry({ name: entryName, kind, mode, modifiedAtMs, data, target }));
    }
  }
  await emit(tarTrailer());
  if (call.archive !== '-') files.write(resolvePath(process.workingDirectory, call.archive), Buffer.concat(pieces));
  if (status !== 0) await put(process.stderr, 'tar: error exit delayed from previous errors\n');
  return status;
}

function* walk(files: ContainerFiles, name: string, path: string): Generator<readonly [name: string, path: string]> {
  yield [name, path];
  if (files.findLink(path)?.kind !== 'directory') return;
  for (const child of files.list(path)) yield* walk(files, posix.join(name, child), posix.join(path, child));
}
