// `npm run test:e2e`: everything on real control planes. The binaries are built from pinned Go modules on first use
// (many minutes, then cached outside the tree). Easy to get wrong: one file at a time, since each starts control planes
// of its own on two cores.
import { ensureBinaries, programNames } from '../controlplane/build.ts';
import type { Counts } from '../counting-reporter.ts';
import { conclude, runTests, testFiles } from '../runner.ts';

/** More than this is no accident of a busy machine. */
const mostFilesAgain = 3;
/**
 * The longest test of a whole run takes two minutes, the longest file five; what hangs must not take the files behind
 * it along.
 */
const longestTestMs = 480_000;
const longestFileMs = 600_000;
/** Files that are named may be given more to do by the environment, and may build what they need. */
const longestNamedTestMs = 1_800_000;

const chosen = process.argv.slice(2);
const isWhole = chosen.length === 0;
const files = testFiles(...(isWhole ? ['test/{controlplane,clients,e2e,faults}/**/*.e2e.ts'] : chosen));
const results = new Map<string, Counts>();
let isStopped = false;
process.once('SIGTERM', () => (isStopped = true));

async function run(file: string): Promise<void> {
  if (isStopped) return;
  const flags = [`--test-timeout=${isWhole ? longestTestMs : longestNamedTestMs}`];
  results.set(file, await runTests([file], flags, isWhole ? { timeoutMs: longestFileMs } : {}));
}

// Whoever needs what cannot be built says so in its own words.
if (isWhole) await ensureBinaries(programNames()).catch((error: unknown) => console.error(String(error)));
for (const file of files) await run(file);

const first = [...results].filter(([, { failed }]) => failed > 0);
for (const file of filesToRepeat(first.map(([name]) => name))) {
  console.log(`\n== once more: ${file}`);
  await run(file);
}
for (const failure of first.flatMap(([, { failures }]) => failures)) console.log(`failed the first time: ${failure}`);
const notRun = files.filter((file) => !results.has(file));
process.exitCode = conclude([...results.values()], isStopped ? [`stopped; not run: ${notRun.join(', ')}`] : []);

/**
 * Files of a whole run that get a second and last try, as Kubernetes' own e2e jobs give one (docs/decisions/0008):
 * never those of attacks, where once is too often, and none at all when many failed.
 */
function filesToRepeat(failed: readonly string[]): readonly string[] {
  const isFinal = failed.some((file) => /attack|fuzz|identity/.test(file));
  return !isWhole || failed.length > mostFilesAgain || isFinal ? [] : failed;
}
