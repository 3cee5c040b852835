// What each end-to-end file gave, kept outside the checkout and beside the hash of the tree that it ran on, so that a
// run that was ended goes on where it stopped. A result counts for exactly one tree: a changed file begins anew.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Counts } from '../counting-reporter.ts';

/** One try of one file. */
export interface FileResult {
  readonly file: string;
  readonly seconds: number;
  /** 1, or 2 for the second and last try. */
  readonly attempt: number;
  readonly counts: Counts;
}

/** The results of one tree. */
export interface Results {
  /** Every try that was kept, oldest first. */
  read(): readonly FileResult[];
  /** Keeps a result and what the file printed; returns the path of the latter. */
  keep(result: FileResult, printed: string): string;
  /** Forgets what was kept. */
  clear(): void;
}

/**
 * Hash of the files of a checkout as they are, committed or not, without those that git ignores.
 * @throws where the folder is no checkout of git
 */
export function treeHash(checkout: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-tree-'));
  try {
    const git = (...args: readonly string[]): string =>
      execFileSync('git', args, {
        cwd: checkout,
        env: { ...process.env, GIT_INDEX_FILE: join(folder, 'index') },
        encoding: 'utf8',
      }).trim();
    git('add', '--all');
    return git('write-tree');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The results of a tree, in a folder of its own below `cache`. */
export function resultsOf(tree: string, cache: string): Results {
  const folder = join(cache, tree);
  const list = join(folder, 'results.jsonl');
  return {
    read: () => {
      if (!existsSync(list)) return [];
      // A line that was being written when the run was killed is cut.
      const lines = readFileSync(list, 'utf8').split('\n');
      return lines.filter((line) => /^\{.*\}\}$/.test(line)).map((line) => JSON.parse(line) as FileResult);
    },
    keep: (result, printed) => {
      const log = join(folder, 'printed', `${result.file}.${result.attempt}.log`);
      mkdirSync(dirname(log), { recursive: true });
      writeFileSync(log, printed);
      // The line break comes first: it ends a line that was cut.
      appendFileSync(list, `\n${JSON.stringify(result)}`);
      return log;
    },
    clear: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The last result of each file. */
export function lastResults(results: readonly FileResult[]): ReadonlyMap<string, FileResult> {
  return new Map(results.map((result) => [result.file, result]));
}

/** A table of files, those that took longest first, and their sum. */
export function table(results: readonly FileResult[]): string {
  const rows = results.toSorted((one, other) => other.seconds - one.seconds).map(rowOf);
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  return [
    'seconds  passed  failed  skipped  file',
    ...rows,
    `${String(Math.round(seconds)).padStart(7)}  in ${results.length} files`,
  ].join('\n');
}

function rowOf({ file, seconds, attempt, counts: { passed, failed, skipped } }: FileResult): string {
  const cells = [
    [Math.round(seconds), 7],
    [passed, 6],
    [failed, 6],
    [skipped, 7],
  ] as const;
  const again = attempt > 1 ? ' (at the second try)' : '';
  return `${cells.map(([cell, width]) => String(cell).padStart(width)).join('  ')}  ${file}${again}`;
}
