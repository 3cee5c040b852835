// The files of the built console (see console/build.ts), read into memory once: the HTML page, and all other files with
// the compressed copies that the build has made of them.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';

/** The folder with the files of the built console; it has this place in a checkout as well as in a release. */
export const assetsFolder = join(import.meta.dirname, '../../console/assets');

/** The content coding (HTTP `Content-Encoding`) of a stored copy of a file; '' means not compressed. */
export type Coding = 'br' | 'gzip' | '';

/** One file of the console. */
export interface Asset {
  readonly contentType: string;
  /** The file's content in each coding in which a copy is stored. */
  readonly bodies: ReadonlyMap<Coding, Buffer>;
  /** Hash of the content, for entity tags. */
  readonly hash: string;
}

/** All files of the console, in memory. */
export interface ConsoleAssets {
  /** The HTML page. In every answer, the text `NONCE` in the page is replaced by a new random nonce. */
  readonly page: string;
  /** All files of the console except the page, by file name. */
  readonly files: ReadonlyMap<string, Asset>;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};
const endings: Readonly<Record<string, Coding>> = { '.br': 'br', '.gz': 'gzip' };

/** Reads the built console; undefined when it was not built. */
export function readConsoleAssets(folder: string = assetsFolder): ConsoleAssets | undefined {
  let names: readonly string[];
  let page: string;
  try {
    names = readdirSync(folder);
    page = readFileSync(join(folder, 'index.html'), 'utf8');
  } catch {
    return undefined;
  }
  const files = new Map<string, Asset>();
  for (const name of names) {
    const contentType = contentTypes[extname(name)];
    if (contentType === undefined) continue;
    const content = readFileSync(join(folder, name));
    const bodies = new Map<Coding, Buffer>([['', content]]);
    for (const [ending, coding] of Object.entries(endings)) {
      if (names.includes(name + ending)) bodies.set(coding, readFileSync(join(folder, name + ending)));
    }
    const hash = createHash('sha256').update(content).digest('base64url').slice(0, 22);
    files.set(name, { contentType, bodies, hash });
  }
  return { page, files };
}
