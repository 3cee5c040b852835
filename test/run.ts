// `npm test`: types, lint, format, then unit tests in one process, then everything that opens sockets or starts processes. Needs neither Go
// nor a network. Easy to get wrong: every step runs even when an earlier one failed, so that one run tells everything.
import { conclude, runProgram, runTests } from './runner.ts';

const failures: string[] = [];
const checks: readonly (readonly [string, string, ...string[]])[] = [
  ['types', 'tsc', '--noEmit'],
  ['lint', 'oxlint', '--deny-warnings'],
  ['format', 'oxfmt', '--check'],
];
for (const [name, command, ...args] of checks) {
  console.log(`\n== ${name}`);
  if ((await runProgram(command, args)) !== 0) failures.push(name);
}
console.log('\n== unit tests');
const unit = await runTests(
  [
    '{auth,bench,bin,cache,cli,gateway,routing,sim}/**/*.test.ts',
    'test/{house,chart,controlplane,clients,fuzz}/**/*.test.ts',
  ],
  ['--test-isolation=none'],
);
console.log('\n== integration and attack tests');
const sockets = await runTests(
  ['test/{integration,attack}/**/*.test.ts'],
  ['--test-concurrency=2', '--test-timeout=60000'],
);
console.log('');
process.exitCode = conclude([unit, sockets], failures);
