// `npm run test:e2e`: everything on real control planes, two files at a time where they measure nothing (decision
// 0024). The binaries are built from pinned Go modules on first use: many minutes, then cached outside the tree.
import { readFileSync } from 'node:fs';
import { ensureBinaries } from '../controlplane/build.ts';
import { goModules } from '../controlplane/modules.ts';
import type { Counts } from '../counting-reporter.ts';
import { conclude, root, runTests, testFiles } from '../runner.ts';
import { join } from 'node:path';

/** More failures than this are no accident of a busy machine. */
const mostFilesAgain = 3;
/**
 * The longest test of a whole run takes two minutes, the longest file five; a file that hangs must not take those
 * behind it along.
 */
const longestTestMs = 480_000;
const longestFileMs = 720_000;
/** Files that are named may be given more to do by the environment, and may build what they need. */
const longestNamedTestMs = 1_800_000;
/** Files at a time, each with ports of its own. One waits for API servers to start while the other works. */
const lanes = [0, 1] as const;

const chosen = process.argv.slice(2);
const isWhole = chosen.length === 0;
const files = testFiles(...(isWhole ? ['test/{controlplane,clients,e2e,faults}/**/*.e2e.ts'] : chosen));
const results = new Map<string, Counts>();
let isStopped = false;
process.once('SIGTERM', () => (isStopped = true));

/** Whether a file says in its opening comment that others would disturb it. */
function runsAlone(file: string): boolean {
  return /^\/\/ Runs alone: /m.test(readFileSync(join(root, file), 'utf8'));
}

/** Runs a file and prints what it said in one piece when it is over. */
async function run(file: string, lane: number): Promise<void> {
  if (isStopped) return;
  const startedMs = performance.now();
  let said = '';
  const counts = await runTests([file], [`--test-timeout=${isWhole ? longestTestMs : longestNamedTestMs}`], {
    output: (text) => (said += text),
    env: { PORTCULLIS_TEST_LANE: String(lane) },
    ...(isWhole ? { timeoutMs: longestFileMs } : {}),
  });
  results.set(file, counts);
  process.stdout.write(`\n== ${file} (${Math.round((performance.now() - startedMs) / 1000)} s)\n${said}`);
}

/** Runs files side by side, as many as there are lanes. */
async function runTogether(waiting: string[]): Promise<void> {
  const drive = async (lane: number): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await run(file, lane);
  };
  await Promise.all(lanes.map(drive));
}

/**
 * Files of a whole run that get a second and last try, as Kubernetes' own e2e jobs give one (docs/decisions/0008):
 * never those of attacks, where once is too often, and none at all when many failed.
 */
function filesToRepeat(failed: readonly string[]): readonly string[] {
  const isFinal = failed.some((file) => /\/attack\/|(?:attack|fuzz|identity)[^/]*$/.test(file));
  return !isWhole || failed.length > mostFilesAgain || isFinal ? [] : failed;
}

// What cannot be built is told again by the files that need it.
const programs = goModules().flatMap((module) => (module.isForPeers === true ? [] : module.programs));
if (isWhole) await ensureBinaries(programs).catch((error: unknown) => console.error(String(error)));
await runTogether(files.filter((file) => !runsAlone(file)));
for (const file of files.filter(runsAlone)) await run(file, 0);

const first = [...results].filter(([, { failed }]) => failed > 0);
for (const file of filesToRepeat(first.map(([name]) => name))) {
  console.log(`\n== once more: ${file}`);
  await run(file, 0);
}
for (const failure of first.flatMap(([, { failures }]) => failures)) console.log(`failed the first time: ${failure}`);
const notRun = files.filter((file) => !results.has(file));
process.exitCode = conclude([...results.values()], isStopped ? [`stopped; not run: ${notRun.join(', ')}`] : []);
