// `npm run test:e2e`: everything on real control planes. The binaries are built from pinned Go modules on first use (many minutes, then cached
// outside the tree). Easy to get wrong: one file at a time, since each starts control planes of its own on two cores.
import type { Counts } from '../counting-reporter.ts';
import { conclude, runTests, testFiles } from '../runner.ts';

/** More than this is no accident of a busy machine. */
const mostFilesAgain = 3;

const chosen = process.argv.slice(2);
const files = testFiles(...(chosen.length > 0 ? chosen : ['test/{controlplane,clients,e2e,faults}/**/*.e2e.ts']));
const results = new Map<string, Counts>();
const run = async (file: string): Promise<void> => {
  results.set(file, await runTests([file], ['--test-timeout=1200000']));
};
for (const file of files) await run(file);

const first = [...results].filter(([, { failed }]) => failed > 0);
for (const file of filesToRepeat(first.map(([name]) => name))) {
  console.log(`\n== once more: ${file}`);
  await run(file);
}
for (const failure of first.flatMap(([, { failures }]) => failures)) console.log(`failed the first time: ${failure}`);
process.exitCode = conclude([...results.values()], []);

/**
 * Files of a whole run that get a second and last try, as Kubernetes' own e2e jobs give one (docs/decisions/0008): never those of attacks, where
 * once is too often, and none at all when many failed.
 */
function filesToRepeat(failed: readonly string[]): readonly string[] {
  const isFinal = failed.some((file) => /attack|fuzz|identity/.test(file));
  return chosen.length > 0 || failed.length > mostFilesAgain || isFinal ? [] : failed;
}
