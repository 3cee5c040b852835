// End-to-end files that measure say that they run alone, so that no other file disturbs them (decision 0024).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openingLine } from '../runs.ts';
import { sourceFiles, textOf } from './sources.ts';

/** Times that must stay below a bound, memory and CPU of a process, and steady loads. */
const measures = /assert\.ok\([^;]*Ms\b[^;]*<|processFigures|VmRSS|\/load\.ts'/;

/** Whether a file measures and does not say that it runs alone, or says it where the runner does not see it. */
function isSilent(text: string): boolean {
  return (measures.test(text) || /^\/\/.*\bRuns alone:/m.test(text)) && openingLine(text, 'Runs alone') === undefined;
}

test('end-to-end files that measure run alone', () => {
  const files = sourceFiles.filter((file) => file.endsWith('.e2e.ts'));
  assert.ok(files.length > 50);
  assert.deepEqual(
    files.filter((file) => isSilent(textOf(file))),
    [],
  );
  const faults = files.filter((file) => file.startsWith('test/faults/'));
  assert.deepEqual(
    faults.filter((file) => openingLine(textOf(file), 'Runs alone') === undefined),
    [],
  );
});

test('one that measures and does not say so is noticed', () => {
  assert.ok(isSilent("import { startLoad } from '../load.ts';") && isSilent('assert.ok(tookMs < 3_000);'));
  assert.ok(!isSilent('// a\n// Runs alone: it measures.\nassert.ok(tookMs < 3_000);') && !isSilent('tookMs < 3;'));
  assert.ok(isSilent('// a. Runs alone: it measures.\n') && isSilent("import 'a';\n// Runs alone: it measures.\n"));
});
