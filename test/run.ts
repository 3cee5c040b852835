// `npm test`: types, lint and format beside the unit tests in two processes, then everything that opens sockets or starts processes. Needs neither Go
// nor a network. Easy to get wrong: every step runs even when an earlier one failed, so that one run tells everything.
import type { Counts } from './counting-reporter.ts';
import { conclude, runProgram, runTests } from './runner.ts';
import type { Output } from './runner.ts';

const failures: string[] = [];
const checks: readonly (readonly [string, string, ...string[]])[] = [
  ['types', 'tsc', '--noEmit'],
  ['lint', 'oxlint', '--deny-warnings'],
  ['format', 'oxfmt', '--check'],
];
/** Runs one part beside the others and prints what it said when it is over. */
async function beside<T>(title: string, run: (output: Output) => Promise<T>): Promise<T> {
  let said = '';
  const result = await run((text) => (said += text));
  process.stdout.write(`\n== ${title}\n${said}`);
  return result;
}
const check = async (): Promise<void> => {
  for (const [name, command, ...args] of checks) {
    const code = await beside(name, (output) => runProgram(command, args, output));
    if (code !== 0) failures.push(name);
  }
};
const units = (rooms: string): Promise<Counts> =>
  beside(`unit tests of ${rooms}`, (output) => runTests([`${rooms}/**/*.test.ts`], ['--test-isolation=none'], output));
const [one, other] = await Promise.all([
  units('{auth,cache,cli,routing,search}'),
  units('{bench,bin,gateway,sim,test/house,test/chart,test/controlplane,test/clients,test/fuzz}'),
  check(),
]);
console.log('\n== integration and attack tests');
const sockets = await runTests(
  ['test/{integration,attack}/**/*.test.ts'],
  ['--test-concurrency=3', '--test-timeout=60000'],
);
console.log('');
process.exitCode = conclude([one, other, sockets], failures);
