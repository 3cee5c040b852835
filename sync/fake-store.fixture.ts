// The writing methods of a store, in memory, with a record of their calls. A row that is written with the very same
// bytes does not count as written. Objects that a real store cannot keep are left out.
import { FencedError } from '../store/fenced-error.ts';
import { leaveOut, withLeftOut } from '../store/left-out.ts';
import type { Commit, IndexStore, ShardWriter, StoredType, WriteBatch } from '../store/store.ts';
import { typeKey, type ResourceType } from '../query/types.ts';
import { keyText } from './follow/batch.ts';

export interface FakeStore extends IndexStore {
  /** The JSON of each row of a type, by `namespace/name`. Rows of all clusters are included. */
  rows(type: ResourceType): Readonly<Record<string, string>>;
  readonly batches: WriteBatch[];
  /**
   * The epoch in which each shard may be written, by shard number. Writes with another epoch reject with FencedError.
   */
  readonly epochs: Map<number, number>;
  readonly forgotten: string[];
  /** How many of the next calls of `forget` fail. */
  forgetFaults: number;
  written: number;
  /** Called before each commit. A test can replace it to delay or fail commits. */
  gate: (batch: WriteBatch) => Promise<void>;
}

interface Kept {
  info: StoredType;
  readonly rows: Map<string, WriteBatch['upserts'][number]>;
}

export function makeFakeStore(): FakeStore {
  const kept = new Map<string, Kept>();
  const commit = (written: number, deleted: number): Commit => ({ resourceVersion: '0'.repeat(19), written, deleted });
  const requireTerm = (writer: ShardWriter | undefined): void => {
    if (writer !== undefined && store.epochs.get(writer.shard) !== writer.epoch) throw new FencedError();
  };
  const refuse = (): never => {
    throw new Error('not part of the fake');
  };
  const store: FakeStore = {
    id: '0123456789abcdef',
    limits: { maxOffset: 0 },
    batches: [],
    epochs: new Map(),
    forgotten: [],
    forgetFaults: 0,
    written: 0,
    gate: async () => undefined,
    rows(type) {
      const found = [...kept.values()].filter(({ info }) => typeKey(info.type) === typeKey(type));
      return Object.fromEntries(
        found.flatMap(({ rows }) => [...rows].map(([key, { raw }]) => [key, Buffer.from(raw).toString()])).sort(),
      );
    },
    types: async (incarnation) =>
      [...kept.values()]
        .filter(({ info }) => incarnation === undefined || info.incarnation.id === incarnation)
        .map(({ info, rows }) => ({ ...info, objects: rows.size })),
    versions: async (incarnation, type) => [...(kept.get(`${incarnation} ${typeKey(type)}`)?.rows.values() ?? [])],
    async apply(batch, writer) {
      await store.gate(batch);
      requireTerm(writer);
      store.batches.push(batch);
      const { kept: writable, leftOut } = leaveOut(batch);
      const { incarnation, type, upserts, deletes, position } = writable;
      const key = `${incarnation.id} ${typeKey(type)}`;
      const none = { resourceVersion: '', confirmedAtMs: 0 };
      const of = kept.get(key) ?? { info: { incarnation, type, position: none, objects: 0 }, rows: new Map() };
      kept.set(key, of);
      of.info = { incarnation, type, position: position ?? of.info.position, objects: 0 };
      let written = 0;
      for (const row of upserts) {
        const before = of.rows.get(keyText(row));
        if (before !== undefined && Buffer.compare(before.raw, row.raw) === 0) continue;
        of.rows.set(keyText(row), row);
        written += 1;
      }
      store.written += written;
      const deleted = deletes.filter((each) => of.rows.delete(keyText(each))).length;
      return withLeftOut(commit(written, deleted), leftOut);
    },
    async forget(incarnation, type, writer) {
      requireTerm(writer);
      store.forgetFaults -= 1;
      if (store.forgetFaults >= 0) throw new Error('the disk is full');
      const keys = [...kept.keys()].filter((key) =>
        type === undefined ? key.startsWith(`${incarnation} `) : key === `${incarnation} ${typeKey(type)}`,
      );
      for (const key of keys) kept.delete(key);
      store.forgotten.push(type === undefined ? incarnation : `${incarnation} ${typeKey(type)}`);
      return commit(0, 0);
    },
    list: refuse,
    count: refuse,
    facets: refuse,
    values: refuse,
    catalogVersion: async () =>
      JSON.stringify(
        [...kept.values()].map(({ info: { incarnation, type, position } }) => [
          incarnation,
          type,
          position.resourceVersion !== '',
        ]),
      ),
    readPoint: refuse,
    resourceVersion: refuse,
    oldestResourceVersion: refuse,
    canBeOwn: refuse,
    isInLog: refuse,
    changes: refuse,
    onCommit: () => () => undefined,
    close: async () => undefined,
  };
  return store;
}
