// `npm test`: types, lint, format and every test but those on real control planes. Needs neither Go nor a network.
// Every part runs even when an earlier one failed, so that one run tells everything; what takes longest starts first,
// or one core idles at the end.
import { basename } from 'node:path';
import type { Counts } from './counting-reporter.ts';
import { conclude, runProgram, runTests } from './runner.ts';
import type { Output } from './runner.ts';
import { socketFiles, unitFiles } from './runs.ts';

/**
 * One more than the cores of a small machine, since tests that wait leave room; with more, tests of deadlines starve.
 */
const atOnce = 3;
/** A process that takes longer hangs, and so does a test: both say which, in place of a run that never ends. */
const timeoutMs = 240_000;
const testTimeout = '--test-timeout=60000';

/** One process or more that print what they say together. */
interface Part {
  readonly title: string;
  readonly run: (output: Output) => Promise<void>;
}

const failures: string[] = [];
const counts: Counts[] = [];

const checks: Part = {
  title: 'types, lint and format',
  run: async (output) => {
    // One thread is half the work of two for types that nearly every file shares; collecting garbage (tsc is a Go
    // program) is a quarter of it.
    const commands = [
      ['types', 'env', 'GOGC=off', 'tsc', '--noEmit', '--singleThreaded'],
      ['types of the console', 'tsc', '--noEmit', '-p', 'console'],
      ['lint', 'oxlint', '--deny-warnings'],
      ['format', 'oxfmt', '--check'],
    ] as const;
    for (const [name, command, ...args] of commands) {
      if ((await runProgram(command, args, { output })) !== 0) failures.push(name);
    }
  },
};
/** The room of a file; the folders of `test` are rooms of their own. */
const roomOf = (file: string): string => /^(?:test\/)?[^/]+/.exec(file)![0];
const units = (files: readonly string[]): Part => ({
  title: `unit tests of ${[...new Set(files.map(roomOf))].join(', ')}`,
  run: async (output) => {
    counts.push(await runTests(files, [testTimeout, '--test-isolation=none'], { output, timeoutMs }));
  },
});

/** Rooms that take about as long as all others together. */
const firstUnits = /^(?:auth|cache|cli|http|lib|routing|search)\//;
const sockets = (files: readonly string[]): Part => ({
  title: files.map((file) => basename(file, '.test.ts')).join(', '),
  run: async (output) => {
    const isGroup = files.length > 1;
    const flags = [testTimeout, ...(isGroup ? [] : ['--test-isolation=none'])];
    counts.push(await runTests(files, flags, { output, isGroup, timeoutMs }));
  },
});

/**
 * Files that share a process: short ones that load a whole gateway. Whatever reads the memory of its process, replaces
 * functions of Node, or keeps cores busy has one of its own.
 */
const groups = [
  ['index', 'index-api'],
  ['isolation', 'registered-credentials'],
  ['hostile-member', 'index-sync', 'gateway-peer-cases', 'identity-faults'],
  ['front-proxy', 'hub-decisions', 'identity', 'identity-exchange'],
  ['anonymous', 'certificates', 'impersonation', 'smuggling', 'http2-conformance'],
  ['paths', 'secrets', 'upgrades', 'gateway-modes'],
  ['gateway-clusters', 'gateway-hub-api', 'gateway-stream-ends'],
  ['index-collections', 'index-fleet', 'index-live', 'reported'],
  ['index-forms', 'index-karmada', 'index-operations', 'index-questions'],
  ['gateway-errors', 'gateway-drain', 'gateway-statistics'],
  ['web-pages', 'shared-origin', 'fanout-forged', 'index-left-out', 'index-identity'],
] as const;
/** Those alone in their process that take longest. */
const longest = ['sim-kubectl', 'exhaustion', 'gateway-reload', 'cli', 'tokens', 'gateway-audit', 'gateway-bodies'];

/** A file that was renamed is one of the rest until it is named here again. */
const named = (names: readonly string[]): readonly string[] =>
  socketFiles.filter((file) => names.includes(basename(file, '.test.ts')));
const grouped = groups.map(named).filter((files) => files.length > 0);
const first = longest.flatMap((name) => named([name])).map((file) => [file]);
const rest = socketFiles.filter((file) => ![...grouped, ...first].flat().includes(file)).map((file) => [file]);

const waiting = [
  units(unitFiles.filter((file) => firstUnits.test(file))),
  units(unitFiles.filter((file) => !firstUnits.test(file))),
  checks,
  ...[...first, ...grouped, ...rest].map(sockets),
];
const worker = async (): Promise<void> => {
  for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
    let said = '';
    await part.run((text) => (said += text));
    process.stdout.write(`\n== ${part.title}\n${said}`);
  }
};
await Promise.all(Array.from({ length: atOnce }, worker));
console.log('');
process.exitCode = conclude(counts, failures);
