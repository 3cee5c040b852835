// A series of writes for the test that kills a writing process. After any number of steps, the rows and the position
// show which step was the last, and half of a commit matches no step. Run as a program, it writes steps until it is
// killed.
import type { WriteBatch } from '../store.ts';
import { rowWrite, typeInfo, type ModelRow } from '../conformance/model.fixture.ts';
import { openSqliteStore } from './store.ts';

export const crashType = typeInfo('', 'pods');
export const crashIncarnation = { id: 'record/system', cluster: 'one' };
const kept = 3;

/**
 * The batch of one step: inserts a row, updates the row `newest`, deletes the row from three steps ago, and sets the
 * position to the step.
 */
export function batchOf(step: number): WriteBatch {
  const row = (name: string): ModelRow => ({
    cluster: 'one',
    incarnation: crashIncarnation.id,
    type: crashType,
    namespace: 'default',
    name,
    uid: name,
    ownerUid: '',
    createdAtMs: 0,
    resourceVersion: String(step),
    labels: { step: String(step) },
    rest: { data: 'x'.repeat(1000) },
  });
  return {
    incarnation: crashIncarnation,
    type: crashType,
    upserts: [rowWrite(row('newest')), rowWrite(row(`row-${step}`))],
    deletes: [{ namespace: 'default', name: `row-${step - kept}` }],
    position: { resourceVersion: String(step), confirmedAtMs: step },
  };
}

/** The names of the rows that exist after a step. */
export function namesAfter(step: number): readonly string[] {
  if (step === 0) return [];
  const rows = Array.from({ length: Math.min(step, kept) }, (_, i) => `row-${step - i}`);
  return ['newest', ...rows];
}

if (import.meta.main) {
  const store = await openSqliteStore({ directory: process.argv[2]! });
  for (let step = 1; ; step++) {
    await store.apply(batchOf(step));
    process.stdout.write(`${step}\n`);
  }
}
