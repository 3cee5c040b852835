// `tar` in a simulated container: `tar cf -` and `tar xf -`, which `kubectl cp` uses, for directories and plain files.
// A leading `/` is removed from names in archives. A name with `..` cannot lead out of the target directory.
import { posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { packTar, unpackTar } from 'modern-tar';
import { resolvePath, type ContainerFiles } from './container-files.ts';
import { put, type Process } from './process.ts';

const flag = { type: 'boolean' } as const;
const options = {
  create: { ...flag, short: 'c' },
  extract: { ...flag, short: 'x' },
  file: { type: 'string', short: 'f' },
  directory: { type: 'string', short: 'C', default: '' },
  // Options of kubectl without an effect, because simulated files have no owner, time or permissions.
  touch: { ...flag, short: 'm' },
  'no-same-owner': flag,
  'no-same-permissions': flag,
} as const;

/** Packs the named files to stdout, or unpacks stdin. */
export async function tar(process: Process): Promise<number> {
  const [first = '', ...rest] = process.argv.slice(1);
  const args = [first.startsWith('-') ? first : `-${first}`, ...rest];
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  if (values.create === values.extract || values.file !== '-') throw new Error('only "cf -" and "xf -" are simulated');
  const base = resolvePath(process.workingDirectory, values.directory);
  if (!process.container.files.isDirectory(base))
    throw new Error(`can't change directory to '${values.directory}': No such file or directory`);
  return values.create === true ? create(process, positionals, base) : extract(process, base);
}

async function extract(process: Process, base: string): Promise<number> {
  const { files } = process.container;
  let status = 0;
  for (const { header, data } of await unpackTar(await buffer(process.stdin), { strict: true })) {
    const path = posix.join(base, posix.normalize(header.name).replace(/^(\.\.?\/|\/)+/, ''));
    if (header.type === 'directory') files.makeDirectory(path);
    else if (header.type === 'file') files.write(path, Buffer.from(data ?? ''));
    else {
      await put(process.stderr, `tar: ${header.name}: a ${header.type} is not simulated, left out\n`);
      status = 1;
    }
  }
  return status;
}

async function create(process: Process, members: readonly string[], base: string): Promise<number> {
  const { files } = process.container;
  const entries: Parameters<typeof packTar>[0][number][] = [];
  let status = 0;
  for (const member of members) {
    if (member.startsWith('/')) await put(process.stderr, "tar: removing leading '/' from member names\n");
    const path = resolvePath(base, member);
    if (!files.has(path)) {
      await put(process.stderr, `tar: ${member}: No such file or directory\n`);
      status = 1;
    } else {
      for (const [name, at] of walk(files, posix.normalize(member).replace(/^\/+|\/+$/g, '') || '.', path)) {
        const body = files.isDirectory(at) ? undefined : files.read(at);
        const [type, mode] = body === undefined ? (['directory', 0o755] as const) : (['file', 0o644] as const);
        entries.push({ header: { name, type, mode, size: body?.length ?? 0 }, body: body ?? Buffer.alloc(0) });
      }
    }
  }
  await put(process.stdout, Buffer.from(await packTar(entries)));
  return status;
}

function* walk(files: ContainerFiles, name: string, path: string): Generator<readonly [name: string, path: string]> {
  yield [name, path];
  if (!files.isDirectory(path)) return;
  for (const child of files.list(path)) yield* walk(files, posix.join(name, child), posix.join(path, child));
}
