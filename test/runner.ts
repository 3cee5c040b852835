// Runs checks and test files as processes and adds their counts up. A run that executed nothing fails, or a typo in a
// pattern would pass for ever.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countsOf, type Counts } from './counting-reporter.ts';

/** Root of the checkout. */
export const root = new URL('..', import.meta.url).pathname;

/**
 * Each test file is a process, and many start gateways: types are stripped and modules compiled once for all of them.
 */
const compileCache = join(root, 'node_modules', '.cache', 'node-compile');

/** Takes what a program prints in place of the terminal, for programs that run beside each other. */
export type Output = (text: string) => void;

const nothing: Counts = { passed: 0, failed: 0, skipped: 0, skips: [], failures: [] };

/** node:test needs a moment to tell what it knows until then. */
const killGraceMs = 20_000;

/** What a program is given. */
export interface ProgramOptions {
  /** Default: it writes to the terminal itself. */
  readonly output?: Output;
  /** After which it gets a SIGTERM, and some seconds later a SIGKILL; none unless said. */
  readonly timeoutMs?: number;
  /** Beside the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program of node_modules/.bin or of the system in the project's folder; resolves with its exit code. */
export function runProgram(
  command: string,
  args: readonly string[],
  { output, timeoutMs, env }: ProgramOptions = {},
): Promise<number> {
  const path = `${join(root, 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}`;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: output === undefined ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      env: { NODE_COMPILE_CACHE: compileCache, ...process.env, ...env, PATH: path },
    });
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', output!);
    const timers =
      timeoutMs === undefined
        ? []
        : [
            setTimeout(() => child.kill('SIGTERM'), timeoutMs),
            setTimeout(() => child.kill('SIGKILL'), timeoutMs + killGraceMs),
          ];
    child.on('error', reject);
    child.on('close', (code) => {
      for (const timer of timers) clearTimeout(timer);
      resolve(code ?? 1);
    });
  });
}

/** What a run of tests is given beside its files. */
export interface RunOptions extends ProgramOptions {
  /**
   * All files in one process, each a suite of its own (test/group.ts); otherwise each is a process unless the flags say
   * something else.
   */
  readonly isGroup?: boolean;
}

/** Files that match, in the order of their names. */
export function testFiles(...patterns: readonly string[]): readonly string[] {
  const files = patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => !file.includes('node_modules'));
  if (files.length === 0) throw new Error(`no test file matches ${patterns.join(' ')}`);
  return files.toSorted();
}

/** Runs test files with node:test. */
export async function runTests(
  patterns: readonly string[],
  flags: readonly string[],
  { isGroup = false, ...options }: RunOptions = {},
): Promise<Counts> {
  const files = testFiles(...patterns);
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-tests-'));
  const counts = join(folder, 'counts.jsonl');
  try {
    const code = await runProgram(
      process.execPath,
      [
        ...(isGroup ? [] : ['--test']),
        '--import=./test/quick-exit.ts',
        ...flags,
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        '--test-reporter=./test/counting-reporter.ts',
        `--test-reporter-destination=${counts}`,
        ...(isGroup ? ['test/group.ts'] : []),
        ...files,
      ],
      options,
    );
    const found = readCounts(counts, files);
    if (code !== 0 && found.failed === 0) return { ...found, failed: 1 };
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What was counted; a process that was ended, or crashed, has failed beside what it told until then. */
function readCounts(path: string, files: readonly string[]): Counts {
  const found = countsOf(existsSync(path) ? readFileSync(path, 'utf8') : '');
  if (found?.isWhole === true) return found;
  const { passed, failed, skipped, skips, failures } = found ?? nothing;
  const ended = files.map((file) => `${file}: the process ended before all its tests had`);
  return { passed, failed: failed + 1, skipped, skips, failures: [...failures, ...ended] };
}

/**
 * Prints the closing lines of several runs and returns the exit code. What failed goes to the file that the environment
 * names, too, for whoever prints lines of its own behind these.
 */
export function conclude(runs: readonly Counts[], otherFailures: readonly string[]): number {
  const sum = (read: (counts: Counts) => number): number => runs.reduce((total, counts) => total + read(counts), 0);
  for (const skip of runs.flatMap(({ skips }) => skips)) console.log(`skipped: ${skip}`);
  const lines = [...runs.flatMap(({ failures }) => failures), ...otherFailures].map(
    (failure) => `failed: ${failure}\n`,
  );
  process.stdout.write(lines.join(''));
  const file = process.env['PORTCULLIS_TEST_FAILURES'];
  if (file !== undefined) appendFileSync(file, lines.join(''));
  const failed = sum((counts) => counts.failed) + otherFailures.length;
  const passed = sum((counts) => counts.passed);
  console.log(`${passed} passed, ${failed} failed, ${sum((counts) => counts.skipped)} skipped`);
  return failed > 0 || passed === 0 ? 1 : 0;
}
