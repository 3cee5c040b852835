import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { killLeftovers } from './leftovers.ts';
import { tempDir } from './pretend/temp-dir.ts';

test('processes of a killed end-to-end run are ended, and no others', () => {
  const proc = tempDir('proc');
  const environments = {
    '11': 'PATH=/bin\0PORTCULLIS_TEST_LANE=1\0',
    '12': 'PATH=/bin\0',
    '13': 'X=PORTCULLIS_TEST_LANE=1\0',
    '14': undefined,
    [process.pid]: 'PORTCULLIS_TEST_LANE=0\0',
  };
  for (const [pid, environment] of Object.entries(environments)) {
    mkdirSync(join(proc, pid));
    if (environment !== undefined) writeFileSync(join(proc, pid, 'environ'), environment);
  }
  const killed: number[] = [];
  assert.deepEqual(
    killLeftovers(proc, (pid) => killed.push(pid)),
    [11],
  );
  assert.deepEqual(killed, [11]);
  assert.deepEqual(killLeftovers(join(proc, 'nowhere')), []);
});
