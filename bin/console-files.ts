// The files of the web console in a checkout, where only their sources are: they are built when `serve` or `demo` needs
// them for the first time. A release carries them built, and has no sources.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../console');

/** Where the sources and the built files of the console are, and how they are built. */
export interface ConsoleFiles {
  readonly folder: string;
  /** Runs the build script of the console; resolves with its exit code. */
  readonly build: (script: string) => Promise<number>;
  /** Prints a line for the person who runs the command. */
  readonly note: (line: string) => void;
}

/**
 * Builds the console if its sources are present and its built files are missing. When the build fails, a line says so,
 * and the gateway starts all the same: the console's page then says how to build it.
 */
export async function buildMissingConsole({ folder, build, note }: ConsoleFiles = ofThisCheckout()): Promise<void> {
  const script = join(folder, 'build.ts');
  if (existsSync(join(folder, 'assets/index.html')) || !existsSync(script)) return;
  note('portcullis: building the console, once for this checkout');
  if ((await build(script)) !== 0) note('portcullis: the console could not be built; everything else is served');
}

function ofThisCheckout(): ConsoleFiles {
  return { folder, build: runScript, note: (line) => void process.stderr.write(`${line}\n`) };
}

function runScript(script: string): Promise<number> {
  return new Promise((resolve) => {
    // The build must not write to standard output, which is reserved for the output of the command.
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('error', () => resolve(1));
    child.once('close', (code) => resolve(code ?? 1));
  });
}
