// What the main thread and the workers send each other. Bodies of a batch travel in one buffer that is handed over, the
// rest of its rows as one JSON text: cloning thousands of small arrays would cost the main thread more than the write
// costs the worker.
import type { ObjectKey, TypeInfo, Incarnation } from '../../../types.ts';
import type { RowWrite, SyncPosition, WriteBatch } from '../../store.ts';
import { compareKeys } from '../../text-order.ts';

/** One row of {@link PackedBatch.rows}; the last is the length of its body. */
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
  /** JSON of {@link PackedRow}s. */
  readonly rows: string;
  /** Bodies in the order of the rows. */
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

/** Rows with their bodies, sorted by namespace and name: neighbours in the file are written together. */
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

/** How far the writer is. */
export interface WriterState {
  /** Time of the last commit, microseconds. */
  readonly sequence: number;
  /** Another number when what `types()` says may be another, but for positions and counts. */
  readonly typesVersion: number;
}

/** A call of a worker and its answer. */
export interface CallMessage {
  readonly id: number;
  readonly operation: string;
  readonly input: unknown;
}

export type AnswerMessage =
  | { readonly id: number; readonly output: unknown }
  | { readonly id: number; readonly failure: Failure }
  | { readonly id: 0; readonly event: WorkerEvent };

/** What a worker says without being asked. */
export type WorkerEvent =
  | { readonly kind: 'set-aside'; readonly message: string }
  | { readonly kind: 'trouble'; readonly message: string }
  | { readonly kind: 'committed'; readonly state: WriterState }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'stopped'; readonly types: readonly string[] };

/** An error as it is sent between threads. */
export interface Failure {
  /** Of a GatewayError; absent for an unexpected error. */
  readonly code?: string;
  readonly message: string;
  readonly stack?: string;
  /** The type of an IndexFullError. */
  readonly full?: string;
}
