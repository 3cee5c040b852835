import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingTerminal } from '../stub-gateway.fixture.ts';
import { ClusterReport } from './cluster/cluster-outcomes.ts';
import { makeProgress, wrap } from './progress.ts';

const reportsOf = (count: number): readonly ClusterReport[] =>
  Array.from(
    { length: count },
    (_, i) => new ClusterReport({ name: `cluster-with-quite-a-long-name-${i}`, uid: '' }, 3, new Map()),
  );

test('on a terminal every line fits, however long names and reasons are and however many clusters run', () => {
  const recorded = recordingTerminal();
  const terminal = { ...recorded, columns: () => 60 };
  const reports = reportsOf(40);
  const progress = makeProgress(terminal, reports);
  for (const report of reports) {
    report.status = 'running';
    progress.begin(report);
    progress.state(report, 'deployment.apps/with-a-name: waits for something that takes long to say');
  }
  progress.line(`a: ${'word '.repeat(40)}${'x'.repeat(200)}`);
  reports[0]!.status = 'failed';
  reports[0]!.reason = 'a reason '.repeat(20);
  progress.end(reports[0]!);
  progress.close();
  const lines = recorded
    .noted()
    .replaceAll(/\u001b\[\d*[A-Z]/g, '')
    .split(/[\r\n]/);
  assert.deepEqual(
    lines.filter((line) => [...line].length > 60),
    [],
  );
  assert.ok(lines.includes('and 28 more'));
  assert.ok(lines.includes('[--------------------] 1 of 40 clusters, 1 failed'));
});

test('escape sequences from a cluster do not reach the terminal', () => {
  for (const columns of [undefined, 80]) {
    const recorded = recordingTerminal();
    const progress = makeProgress({ ...recorded, columns: () => columns }, reportsOf(1));
    progress.line('a: \u001b]0;title\u0007');
    assert.ok(recorded.noted().startsWith('a: ^[]0;title\\x07\n'), JSON.stringify(recorded.noted()));
  }
});

test('long lines break between words', () => {
  assert.equal(wrap('one two three four', 10), 'one two\n  three\n  four\n');
  assert.equal(wrap('x'.repeat(12), 10), `${'x'.repeat(10)}\n  xx\n`);
});
