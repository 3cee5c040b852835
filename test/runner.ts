// Runs checks and test files one after the other and adds their counts up. Easy to get wrong: a run that executed nothing must fail, or a
// typo in a pattern would pass for ever.
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Counts } from './counting-reporter.ts';

const root = new URL('..', import.meta.url).pathname;

/** Each test file is a process, and many start gateways: types are stripped and modules compiled once for all of them. */
const compileCache = join(root, 'node_modules', '.cache', 'node-compile');

/** Takes what a program prints in place of the terminal, for programs that run beside each other. */
export type Output = (text: string) => void;

/** Runs a program of node_modules/.bin or of the system in the project's folder; resolves with its exit code. */
export function runProgram(command: string, args: readonly string[], output?: Output): Promise<number> {
  const path = `${join(root, 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}`;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: output === undefined ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      env: { NODE_COMPILE_CACHE: compileCache, ...process.env, PATH: path },
    });
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', output!);
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** Runs test files with node:test. */
export async function runTests(
  patterns: readonly string[],
  flags: readonly string[],
  output?: Output,
): Promise<Counts> {
  const files = patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => !file.includes('node_modules'));
  if (files.length === 0) throw new Error(`no test file matches ${patterns.join(' ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-tests-'));
  const counts = join(folder, 'counts.json');
  try {
    const code = await runProgram(
      process.execPath,
      [
        '--test',
        '--import=./test/quick-exit.ts',
        ...flags,
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        '--test-reporter=./test/counting-reporter.ts',
        `--test-reporter-destination=${counts}`,
        ...files.toSorted(),
      ],
      output,
    );
    const found = JSON.parse(readFileSync(counts, 'utf8')) as Counts;
    if (code !== 0 && found.failed === 0) return { ...found, failed: 1 };
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints the closing lines of several runs and returns the exit code. */
export function conclude(runs: readonly Counts[], otherFailures: readonly string[]): number {
  const sum = (read: (counts: Counts) => number): number => runs.reduce((total, counts) => total + read(counts), 0);
  for (const skip of runs.flatMap(({ skips }) => skips)) console.log(`skipped: ${skip}`);
  for (const failure of otherFailures) console.log(`failed: ${failure}`);
  const failed = sum((counts) => counts.failed) + otherFailures.length;
  const passed = sum((counts) => counts.passed);
  console.log(`${passed} passed, ${failed} failed, ${sum((counts) => counts.skipped)} skipped`);
  return failed > 0 || passed === 0 ? 1 : 0;
}
