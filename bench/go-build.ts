// Builds the Go programs of the benchmarks, into a cache outside the repository whose file names contain a hash of the
// sources. Two runs may build at the same time, so a binary is written under a temporary name and renamed when it is
// complete.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/**
 * Time limit of a build in milliseconds. A first build takes about a minute on two busy cores, because it compiles
 * net/http and crypto/tls. `rivals/clusterpedia` takes longer: it contains a whole Kubernetes API server.
 */
const buildTimeoutMs = 30 * 60_000;

/** Path of a Go program's folder below bench/. The last part of the path is also the name of the binary. */
export type GoProgram = 'load' | 'stub' | 'rivals/clusterpedia' | 'rivals/dynamic' | 'rivals/goproxy';

/**
 * Programs that must be built with the same flags as those in test/controlplane, so that both share Go's build cache.
 */
const likeControlPlane: ReadonlySet<GoProgram> = new Set(['rivals/clusterpedia', 'rivals/dynamic']);

/**
 * Returns the path of the program's binary. The binary is built first when the cache does not have it.
 * @throws Error (rejects) when Go is not installed or the build fails
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
 * Version of the installed Go, for example `go1.26.8`.
 * @throws Error (rejects) when Go is not installed
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
