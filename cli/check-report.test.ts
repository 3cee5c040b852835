import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkExitCode, checkJson, checkSummary, checkTable } from './check-report.ts';
import type { CheckReport } from './check-report.ts';

const weak: CheckReport = {
  weaknesses: [
    {
      name: 'InsecureTLS',
      severity: 'high',
      where: 'cluster "a\u001b[2J"',
      what: 'is not verified',
      fix: 'Give a CA.',
    },
    { name: 'ExecPlugin', severity: 'low', where: 'cluster "b"', what: 'a program is run', fix: 'Use a token.' },
  ],
  unread: [],
};
const none = new Set<string>();
const unread: CheckReport = { weaknesses: [], unread: [{ where: '/t.csv', what: '/t.csv:3: no such user' }] };

test('0 is nothing weak, 1 is weak, 2 is not read; what was accepted does not count', () => {
  assert.equal(checkExitCode({ weaknesses: [], unread: [] }, none), 0);
  assert.equal(checkExitCode(weak, none), 1);
  assert.equal(checkExitCode(weak, new Set(['ExecPlugin'])), 1);
  assert.equal(checkExitCode(weak, new Set(['ExecPlugin', 'InsecureTLS'])), 0);
  assert.equal(checkExitCode(unread, none), 2);
  assert.equal(checkExitCode({ ...weak, unread: unread.unread }, none), 2);
});

test('the table has a line for each point with its fix below, and moves no cursor', () => {
  assert.equal(
    checkTable(weak, none),
    'SEVERITY   NAME          WHERE\n' +
      'high       InsecureTLS   cluster "a^[[2J"\n    is not verified\n    fix: Give a CA.\n' +
      'low        ExecPlugin    cluster "b"\n    a program is run\n    fix: Use a token.\n',
  );
  assert.doesNotMatch(checkTable(weak, new Set(['ExecPlugin'])), /ExecPlugin/);
  assert.equal(checkTable(unread, none), 'could not read /t.csv:3: no such user\n');
  assert.equal(checkTable({ weaknesses: [], unread: [] }, none), '');
});

test('the sentence below counts', () => {
  assert.equal(checkSummary({ weaknesses: [], unread: [] }, none), 'Nothing weak was found\n');
  assert.equal(checkSummary(weak, none), '2 weak points\n');
  assert.equal(checkSummary(weak, new Set(['ExecPlugin'])), '1 weak point; 1 accepted\n');
  assert.equal(checkSummary(unread, none), '1 could not be read, and nothing is said about it\n');
});

test('JSON keeps what was accepted and says so', () => {
  const { weaknesses } = JSON.parse(checkJson(weak, new Set(['ExecPlugin']))) as {
    weaknesses: { accepted: boolean }[];
  };
  assert.deepEqual(
    weaknesses.map(({ accepted }) => accepted),
    [false, true],
  );
});
