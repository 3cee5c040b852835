// `npm run test:e2e`: everything on real control planes. The binaries are built from pinned Go modules on first use (many minutes, then cached
// outside the tree). Easy to get wrong: one file at a time, since each starts control planes of its own on two cores.
import { relative, resolve } from 'node:path';
import type { Counts } from '../counting-reporter.ts';
import { conclude, runTests } from '../runner.ts';

/** More than this is no accident of a busy machine. */
const mostFilesAgain = 3;

const chosen = process.argv.slice(2);
const run = (files: readonly string[]): Promise<Counts> =>
  runTests(files, ['--test-concurrency=1', '--test-timeout=1200000']);
const first = await run(chosen.length > 0 ? chosen : ['test/{controlplane,clients,e2e,faults}/**/*.e2e.ts']);
const again = filesToRepeat(first);
if (again.length === 0) process.exitCode = conclude([first], []);
else {
  console.log(`\n== once more: ${again.join(' ')}`);
  const second = await run(again);
  for (const { file, name } of first.failures) console.log(`failed the first time: ${relative('', file)}: ${name}`);
  const repeated = again.reduce((sum, file) => sum + (first.passedIn[resolve(file)] ?? 0), 0);
  const others = { ...first, passed: first.passed - repeated, failed: first.failed - first.failures.length };
  process.exitCode = conclude([others, second], []);
}

/**
 * Files of a whole run that get a second and last try, as Kubernetes' own e2e jobs give one (docs/decisions/0008): never those of attacks, where
 * once is too often, and none at all when many failed.
 */
function filesToRepeat({ failures }: Counts): readonly string[] {
  const files = [...new Set(failures.map(({ file }) => relative('', file)))];
  const isFinal = (file: string): boolean => file === '' || /attack|fuzz|identity/.test(file);
  return chosen.length > 0 || files.length > mostFilesAgain || files.some(isFinal) ? [] : files;
}
