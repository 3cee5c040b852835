// The messages between the main thread and the worker threads. The bodies (JSON of objects) of a batch are sent in one
// transferred buffer, and its other columns as one JSON text. Cloning thousands of small arrays would cost the main
// thread more time than the write costs the worker.
import type { ObjectKey, TypeInfo, Incarnation } from '../../../query/types.ts';
import type { RowWrite, SyncPosition, WriteBatch } from '../../store.ts';
import { compareKeys } from '../../compare-keys.ts';

/** One row of {@link PackedBatch.rows}. The last element is the length of the row's body in bytes. */
export type PackedRow = readonly [
  namespace: string,
  name: string,
  uid: string,
  resourceVersion: string,
  ownerUid: string,
  createdAtMs: number,
  labels: RowWrite['labels'],
  terms: RowWrite['terms'],
  bytes: number,
];

export interface PackedBatch {
  readonly incarnation: Incarnation;
  readonly type: TypeInfo;
  /** A JSON list of {@link PackedRow}s. */
  readonly rows: string;
  /** The bodies (JSON of the objects) one after the other, in the order of the rows. */
  readonly bodies: Uint8Array;
  readonly deletes: readonly ObjectKey[];
  readonly position: SyncPosition | undefined;
  readonly upserts: number;
}

export function packBatch(batch: WriteBatch): PackedBatch {
  const total = batch.upserts.reduce((sum, { raw }) => sum + raw.byteLength, 0);
  const bodies = new Uint8Array(total);
  let at = 0;
  const rows = batch.upserts.map((row): PackedRow => {
    bodies.set(row.raw, at);
    at += row.raw.byteLength;
    const { namespace, name, uid, resourceVersion, ownerUid, createdAtMs, labels, terms, raw } = row;
    return [namespace, name, uid, resourceVersion, ownerUid, createdAtMs, labels, terms, raw.byteLength];
  });
  const { incarnation, type, deletes, position, upserts } = batch;
  return { incarnation, type, rows: JSON.stringify(rows), bodies, deletes, position, upserts: upserts.length };
}

/**
 * The rows of a batch with their bodies, sorted by namespace and name, so that neighbouring rows are written together.
 */
export function unpackRows({ rows, bodies }: PackedBatch): readonly RowWrite[] {
  let at = 0;
  return (JSON.parse(rows) as PackedRow[])
    .map(([namespace, name, uid, resourceVersion, ownerUid, createdAtMs, labels, terms, bytes]): RowWrite => {
      const raw = bodies.subarray(at, at + bytes);
      at += bytes;
      return { namespace, name, uid, resourceVersion, ownerUid, createdAtMs, labels, terms, raw };
    })
    .toSorted(compareKeys);
}

/** The state of the index after the writer's last commit. */
export interface WriterState {
  /** Time of the last commit, in microseconds since 1970. */
  readonly sequence: number;
  /** A number that changes when `types()` names other types. It does not change with positions and counts. */
  readonly typesVersion: number;
}

/** A call of the main thread to a worker. */
export interface CallMessage {
  readonly id: number;
  readonly operation: string;
  readonly input: unknown;
}

export type AnswerMessage =
  | { readonly id: number; readonly output: unknown }
  | { readonly id: number; readonly failure: Failure }
  | { readonly id: 0; readonly event: WorkerEvent };

/** The events that a worker thread reports by itself, without being asked. */
export type WorkerEvent =
  | { readonly kind: 'set-aside'; readonly message: string }
  | { readonly kind: 'trouble'; readonly message: string }
  | { readonly kind: 'committed'; readonly state: WriterState }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'stopped'; readonly types: readonly string[] };

/** An error as it is sent between threads. */
export interface Failure {
  /** The code of a GatewayError; absent for any other error. */
  readonly code?: string;
  readonly message: string;
  readonly stack?: string;
  /** Of an IndexFullError, the resource type whose limit is reached; absent for any other error. */
  readonly full?: string;
}
