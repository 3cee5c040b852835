// `npm run test:e2e`: the landing tier on real control planes, two files at a time where they measure nothing (decision
// 0024). With `--all` every file, with `--resume` only those that have not passed yet on this very tree, and with names
// or patterns those. Programs are built from pinned Go modules on first use: many minutes, then cached outside the
// tree.
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { cacheFolder, ensureBinaries } from '../controlplane/build.ts';
import { programNames } from '../controlplane/modules.ts';
import { killLeftovers, laneVariable } from '../leftovers.ts';
import { takeMachineLock } from '../machine-lock.ts';
import { conclude, root, runTests, testFiles } from '../runner.ts';
import { endToEndFiles, isLandingFile, runsAlone } from '../runs.ts';
import { landingSeed, seedVariable } from './seed.ts';
import { lastResults, resultsOf, table, treeHash, type FileResult } from './results.ts';

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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, resume: { type: 'boolean', default: false } },
});
const isNamed = positionals.length > 0;
const isLanding = !isNamed && !values.all;
if (isNamed && (values.all || values.resume)) throw new Error('--all and --resume go without names of files');
const files = isNamed ? testFiles(...positionals) : endToEndFiles.filter((file) => values.all || isLandingFile(file));

await takeMachineLock();
const leftovers = killLeftovers();
if (leftovers.length > 0) console.log(`ended ${leftovers.length} processes that an earlier run had left`);
const kept = resultsOf(treeHash(root), join(dirname(cacheFolder()), 'e2e'));
if (!values.resume && !isNamed) kept.clear();
const earlier = isNamed ? new Map<string, FileResult>() : lastResults(kept.read());
const hasPassed = (file: string): boolean => earlier.get(file)?.counts.failed === 0;
const waiting = files.filter((file) => !hasPassed(file));
if (waiting.length < files.length) console.log(`${files.length - waiting.length} files have passed on this tree`);

const results = new Map<string, FileResult>([...earlier].filter(([file]) => files.includes(file) && hasPassed(file)));
const failedFirst = new Map<string, FileResult>();
let isStopped = false;
process.once('SIGTERM', () => (isStopped = true));

/** Runs a file; one that failed prints what it said, in one piece. */
async function run(file: string, lane: number, attempt: number): Promise<void> {
  if (isStopped) return;
  const startedMs = performance.now();
  let said = '';
  const counts = await runTests([file], [`--test-timeout=${isNamed ? longestNamedTestMs : longestTestMs}`], {
    output: (text) => (said += text),
    env: { [laneVariable]: String(lane), ...(isLanding ? { [seedVariable]: String(landingSeed) } : {}) },
    ...(isNamed ? {} : { timeoutMs: longestFileMs }),
  });
  // A run that is ended takes its files along: what they counted then says nothing of them.
  if (isStopped) return;
  const result = { file, seconds: (performance.now() - startedMs) / 1000, attempt, counts };
  results.set(file, result);
  const log = kept.keep(result, said);
  const { passed, failed, skipped } = counts;
  const again = attempt > 1 ? ', second try' : '';
  console.log(`${failed > 0 ? 'FAILED' : 'ok'} ${file} (${Math.round(result.seconds)} s${again})`);
  if (failed > 0 || isNamed) console.log(`${said}${passed} passed, ${failed} failed, ${skipped} skipped in ${log}`);
}

/** Runs files side by side, as many as there are lanes. */
async function runTogether(queue: string[]): Promise<void> {
  const drive = async (lane: number): Promise<void> => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) await run(file, lane, 1);
  };
  await Promise.all(lanes.map(drive));
}

/**
 * Files of a whole run that get a second and last try, as Kubernetes' own e2e jobs give one (docs/decisions/0008):
 * never those of attacks, where once is too often, and none at all when many failed.
 */
function filesToRepeat(failed: readonly string[]): readonly string[] {
  const isFinal = failed.some((file) => /\/attack\/|(?:attack|fuzz|identity)[^/]*$/.test(file));
  return isNamed || failed.length > mostFilesAgain || isFinal ? [] : failed;
}

const startedMs = performance.now();
// What cannot be built is told again by the files that need it.
if (!isNamed) {
  await ensureBinaries(programNames(values.all ? 'all' : 'landing')).catch((error: unknown) =>
    console.error(String(error)),
  );
}
const builtMs = performance.now();
await runTogether(waiting.filter((file) => !runsAlone(file)));
for (const file of waiting.filter(runsAlone)) await run(file, 0, 1);
for (const [file, result] of results) if (result.counts.failed > 0) failedFirst.set(file, result);
for (const file of filesToRepeat([...failedFirst.keys()])) await run(file, 0, 2);

const minutes = (fromMs: number): string => `${((performance.now() - fromMs) / 60_000).toFixed(1)} min`;
console.log(`\n${table([...results.values()])}`);
console.log(`programs ${((builtMs - startedMs) / 60_000).toFixed(1)} min, tests ${minutes(builtMs)}\n`);
const secondTries = kept.read().filter(({ attempt, counts }) => attempt > 1 && counts.failed === 0);
for (const { file } of secondTries) {
  const first = kept.read().find((result) => result.file === file && result.attempt === 1);
  const why = first?.counts.failures.join('; ') ?? 'of an earlier run';
  console.log(`passed only at the second try: ${file}: ${why}`);
}
const notRun = files.filter((file) => !results.has(file));
process.exitCode = conclude(
  [...results.values()].map(({ counts }) => counts),
  isStopped ? [`stopped; not run: ${notRun.join(', ')}`] : [],
);
