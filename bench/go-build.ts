// Builds the bench's Go programs once, into a cache outside the tree keyed by their sources. Two runs may build at the
// same moment, so the binary appears by rename, whole or not at all.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/**
 * A cold build compiles net/http and crypto/tls, about a minute on two busy cores; the rival of the index compiles a
 * Kubernetes API server.
 */
const buildTimeoutMs = 30 * 60_000;

/** Folder of one Go program below bench/, and the name of its binary. */
export type GoProgram = 'load' | 'stub' | 'rivals/clusterpedia' | 'rivals/goproxy';

/** Built as test/controlplane builds its own, so that what both have in common is compiled once. */
const likeControlPlane: ReadonlySet<GoProgram> = new Set(['rivals/clusterpedia']);

/**
 * Path of the program's binary, built first where it is missing.
 * @throws Error when Go is not installed, or with the compiler's words
 */
export async function buildGo(program: GoProgram, progress: (line: string) => void): Promise<string> {
  const folder = path.join(import.meta.dirname, program);
  const name = path.basename(program);
  const cache = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'portcullis', 'bench');
  const binary = path.join(cache, `${name}-${await goVersion()}-${sourceHash(folder)}`);
  if (existsSync(binary)) return binary;
  await mkdir(cache, { recursive: true });
  progress(`building bench/${program} …`);
  const partial = `${binary}.${process.pid}.partial`;
  await run('go', ['build', '-trimpath', '-buildvcs=false', '-mod=readonly', '-o', partial, '.'], {
    cwd: folder,
    env: { ...process.env, GOWORK: 'off', ...(likeControlPlane.has(program) ? {} : { CGO_ENABLED: '0' }) },
    timeout: buildTimeoutMs,
  });
  await rename(partial, binary);
  return binary;
}

/**
 * Version of the installed Go, `go1.26.8`.
 * @throws Error when there is none
 */
export async function goVersion(): Promise<string> {
  try {
    const { stdout } = await run('go', ['env', 'GOVERSION']);
    return stdout.trim();
  } catch (cause) {
    throw new Error('the load generator is written in Go: install Go 1.25 or newer (go.dev/dl)', { cause });
  }
}

function sourceHash(folder: string): string {
  const hash = createHash('sha256').update(`${process.platform}/${process.arch}`);
  const files = readdirSync(folder).filter((file) => /\.go$|^go\.(?:mod|sum)$/.test(file));
  for (const file of files.sort()) hash.update(`\0${file}\0`).update(readFileSync(path.join(folder, file)));
  return hash.digest('hex').slice(0, 16);
}
