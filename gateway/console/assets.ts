// The built console (console/build.ts), read into memory once: its page, and its other files with the copies that were
// compressed while it was built.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';

/** The files of the console are in this folder of a checkout, and of the built program as well. */
export const assetsFolder = join(import.meta.dirname, '../../console/assets');

/** A content coding that a file is kept in; '' is the file as it is. */
export type Coding = 'br' | 'gzip' | '';

/** One file of the console. */
export interface Asset {
  readonly contentType: string;
  /** The content in each coding that there is. */
  readonly bodies: ReadonlyMap<Coding, Buffer>;
  /** Hash of the content, for entity tags. */
  readonly hash: string;
}

/** The console in memory. */
export interface ConsoleAssets {
  /** The page, with `NONCE` where each answer has a nonce of its own. */
  readonly page: string;
  /** The other files, by their names. */
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
