// An incarnation and rows that belong to one test only.
import type { RowScope } from '../../query/scope/scope.ts';
import type { Incarnation } from '../../query/types.ts';
import type { WriteBatch } from '../store.ts';
import { rowWrite, typeInfo, type ModelRow } from './model.fixture.ts';
import type { TestedStore } from './tested-store.fixture.ts';

export const pods = typeInfo('', 'pods');
export const configMaps = typeInfo('', 'configmaps');

let lives = 0;

/** The incarnation of one test, and a scope that allows all of its rows. */
export class Life {
  readonly incarnation: Incarnation;
  readonly scope: RowScope;

  constructor(number: number) {
    this.incarnation = { id: `record-${number}/life`, cluster: 'one' };
    const types = new Map([['pods.', 'all'] as const, ['configmaps.', 'all'] as const]);
    this.scope = { digest: this.incarnation.id, grants: new Map([[this.incarnation.id, types]]) };
  }

  row(name: string, version: number, more: Partial<ModelRow> = {}): ModelRow {
    const { id, cluster } = this.incarnation;
    const key = { cluster, incarnation: id, type: pods, namespace: 'default', name, uid: `uid-${name}`, ownerUid: '' };
    return { ...key, createdAtMs: 0, resourceVersion: String(version), labels: {}, rest: { version }, ...more };
  }

  batch(upserts: readonly ModelRow[], more: Partial<WriteBatch> = {}): WriteBatch {
    return { incarnation: this.incarnation, type: pods, upserts: upserts.map(rowWrite), deletes: [], ...more };
  }
}

/** A new incarnation, for which the test holds the lease. */
export async function newLife(tested: TestedStore): Promise<Life> {
  const life = new Life(++lives);
  await tested.lease(life.incarnation.id);
  return life;
}
