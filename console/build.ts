// Builds the console into console/assets, or another folder: `node console/build.ts [FOLDER]`. Every file but the page
// has a hash of its content in its name, and two compressed copies beside it, so that the gateway need not compress
// files while it serves them.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'esbuild-wasm';
import type { Metafile } from 'esbuild-wasm';

const here = import.meta.dirname;
const root = dirname(here);
const out = resolve(process.argv[2] ?? join(here, 'assets'));
/**
 * File in the output folder with a hash of the sources from which it was built. While the hash is the same, nothing is
 * built.
 */
const stamp = join(out, 'sources.sha256');

/** Files that are compressed with gzip and brotli. */
const compressible = /\.(?:js|css|html|svg|txt)$/;

function hashOfSources(): string {
  const hash = createHash('sha256');
  const sources = globSync('**/*.{ts,tsx,css,html,svg}', {
    cwd: here,
    exclude: (name) => /\.test\.ts$|^assets/.test(name),
  });
  for (const file of sources.toSorted())
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(here, file)));
  return hash.update(readFileSync(join(root, 'package-lock.json'))).digest('hex');
}

/** Returns the licence texts of all npm packages whose code is in the output. */
function licences({ inputs }: Metafile): string {
  const folders = new Set(
    Object.keys(inputs).flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []),
  );
  return [...folders]
    .toSorted()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Record<
        string,
        string
      >;
      const file = globSync('{LICENSE,LICENCE,license}*', { cwd: join(root, folder) })[0];
      if (file === undefined || license === undefined) throw new Error(`${name} says no licence`);
      return `${name} ${version} (${license})\n\n${readFileSync(join(root, folder, file), 'utf8').trim()}\n`;
    })
    .join('\n----\n\n');
}

function hashed(name: string, content: string | Buffer): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 10);
  return name.replace(/(\.\w+)$/, `-${hash}$1`);
}

async function buildConsole(to: string): Promise<void> {
  const result = await build({
    absWorkingDir: root,
    entryPoints: { main: 'console/main.tsx', style: 'console/style.css' },
    outdir: to,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['es2024', 'chrome123', 'firefox128', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    metafile: true,
    logLevel: 'warning',
  });
  const outputs = Object.keys(result.metafile.outputs).map((file) => basename(file));
  const icon = readFileSync(join(here, 'icon.svg'));
  const parts = {
    ICON: hashed('icon.svg', icon),
    STYLE: nameOf(outputs, 'style', '.css'),
    SCRIPT: nameOf(outputs, 'main', '.js'),
  };
  writeFileSync(join(to, parts.ICON), icon);
  const page = readFileSync(join(here, 'index.html'), 'utf8').replaceAll(
    /ICON|STYLE|SCRIPT/g,
    (name) => parts[name as keyof typeof parts],
  );
  writeFileSync(join(to, 'index.html'), page);
  writeFileSync(join(to, 'licences.txt'), licences(result.metafile));
  const files = globSync('*', { cwd: to }).filter((file) => compressible.test(file) && file !== 'index.html');
  await Promise.all(files.map((file) => compress(join(to, file))));
}

function nameOf(files: readonly string[], entry: string, ending: string): string {
  const found = files.find((file) => file.startsWith(`${entry}-`) && file.endsWith(ending));
  if (found === undefined) throw new Error(`the build made no ${entry}`);
  return found;
}

async function compress(file: string): Promise<void> {
  const content = readFileSync(file);
  // Brotli's highest quality would save a few percent and take ten times as long, and the first `npm start` waits for
  // the build.
  const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  const [small, older] = await Promise.all([
    promisify(brotliCompress)(content, fast),
    promisify(gzip)(content, { level: 9 }),
  ]);
  writeFileSync(`${file}.br`, small);
  writeFileSync(`${file}.gz`, older);
}

const sources = hashOfSources();
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== sources) {
  // Each build uses a temporary folder of its own, because two builds may run at the same time.
  const fresh = mkdtempSync(`${out}.new-`);
  await buildConsole(fresh);
  writeFileSync(join(fresh, basename(stamp)), sources);
  // The finished folder is renamed into place, so that a gateway that starts meanwhile never reads half-written assets.
  rmSync(out, { recursive: true, force: true });
  try {
    renameSync(fresh, out);
  } catch (error) {
    // Another build has renamed its folder first. Its content is the same, so this one is deleted.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    rmSync(fresh, { recursive: true });
  }
  const shell = globSync('{main,style}-*.br', { cwd: out }).reduce(
    (sum, file) => sum + statSync(join(out, file)).size,
    0,
  );
  process.stdout.write(
    `Built the console into ${relative(process.cwd(), out) || '.'}; its first view is ${Math.ceil(shell / 1024)} KiB\n`,
  );
}
