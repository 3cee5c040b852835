// Steps of writing whose every prefix can be recognised by its rows; run by itself, a process that writes them until it
// is killed. Each step inserts, updates and deletes, and moves the position, so that half of a commit looks like no
// step.
import type { WriteBatch } from '../store.ts';
import { rowWrite, typeInfo, type ModelRow } from '../conformance/model.fixture.ts';
import { openSqliteStore } from './store.ts';

export const crashType = typeInfo('', 'pods');
export const crashIncarnation = { id: 'record/system', cluster: 'one' };
const kept = 3;

/** Inserts one row, updates `newest`, deletes the one of some steps ago; the position is the step. */
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

/** Names of the rows there are after a step. */
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
