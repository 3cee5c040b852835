// `tar` in a simulated container. Only `tar cf -` and `tar xf -` are supported, which `kubectl cp` uses. A leading `/`
// is removed from names in archives. A name with `..` cannot lead out of the target directory.
import { posix } from 'node:path';
import { parseArgs } from 'node:util';
import { packTar, unpackTar } from 'modern-tar';
import { resolvePath, type ContainerFiles } from './container-files.ts';
import { put, readAll, type Process } from './process.ts';

const flag = { type: 'boolean' } as const;
const options = {
  create: { ...flag, short: 'c' },
  extract: { ...flag, short: 'x' },
  file: { type: 'string', short: 'f' },
  directory: { type: 'string', short: 'C', default: '' },
  // The following options are accepted but have no effect, because simulated files have only one owner, and their
  // permissions do not matter.
  touch: { ...flag, short: 'm' },
  'preserve-permissions': { ...flag, short: 'p' },
  'no-same-owner': { ...flag, short: 'o' },
  'no-same-permissions': flag,
  'no-overwrite-dir': flag,
} as const;

export async function tar(process: Process): Promise<number> {
  const [first = '', ...rest] = process.argv.slice(1);
  const args = [first.startsWith('-') ? first : `-${first}`, ...rest];
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  if (values.create === values.extract) throw new Error('one of c, x must be given');
  if (values.file !== '-') throw new Error('an archive in a file is not simulated');
  const base = resolvePath(process.workingDirectory, values.directory);
  if (process.container.files.find(base)?.kind !== 'directory')
    throw new Error(`can't change directory to '${values.directory}': No such file or directory`);
  return values.create === true ? create(process, positionals, base) : extract(process, base);
}

async function extract(process: Process, base: string): Promise<number> {
  const { files } = process.container;
  const archive = await readAll(process.stdin, process.signal);
  for (const { header, data } of await unpackTar(archive, { strict: true })) {
    const name = posix.normalize(header.name).replace(/^(\.\.?\/|\/)+/, '');
    if (name === '.' || name === '') continue;
    const path = posix.join(base, name);
    const { type, mode = 0o644, mtime, linkname = '' } = header;
    files.makeDirectory(type === 'directory' ? path : posix.dirname(path), { parents: true });
    if (type === 'symlink') files.makeLink(path, linkname);
    else if (type === 'file')
      files.write(path, Buffer.from(data ?? ''), { mode, ...(mtime && { modifiedAtMs: mtime.getTime() }) });
  }
  return 0;
}

async function create(process: Process, members: readonly string[], base: string): Promise<number> {
  const { files } = process.container;
  const entries: Parameters<typeof packTar>[0][number][] = [];
  let status = 0;
  for (const member of members) {
    if (member.startsWith('/')) await put(process.stderr, "tar: removing leading '/' from member names\n");
    const name = member.replace(/^\/+/, '').replace(/\/+$/, '');
    const path = resolvePath(base, member);
    if (files.findLink(path) === undefined) {
      await put(process.stderr, `tar: ${member}: No such file or directory\n`);
      status = 1;
      continue;
    }
    for (const [entryName, entryPath] of walk(files, name === '' ? '.' : name, path)) {
      const node = files.findLink(entryPath);
      if (node === undefined) continue;
      const { kind: type, mode, modifiedAtMs } = node;
      const body = node.kind === 'file' ? node.data : Buffer.alloc(0);
      const more = node.kind === 'symlink' ? { linkname: node.target } : {};
      const header = { name: entryName, type, mode, mtime: new Date(modifiedAtMs), size: body.length, ...more };
      entries.push({ header, body });
    }
  }
  await put(process.stdout, Buffer.from(await packTar(entries)));
  if (status !== 0) await put(process.stderr, 'tar: error exit delayed from previous errors\n');
  return status;
}

function* walk(files: ContainerFiles, name: string, path: string): Generator<readonly [name: string, path: string]> {
  yield [name, path];
  if (files.findLink(path)?.kind !== 'directory') return;
  for (const child of files.list(path)) yield* walk(files, posix.join(name, child), posix.join(path, child));
}
