// Who asked for what, as this API server saw it: one entry for each request, kept in memory, for tests of a gateway
// in front of it. An entry exists from the moment the caller is known; its `code` is set once the answer began.
import type { SimUser } from '../types.ts';

/** One request as received. */
export interface AuditEntry {
  readonly at: Date;
  readonly auditId: string;
  /** The authenticated caller; undefined when it was refused with 401. */
  readonly user: SimUser | undefined;
  /** Whom it ran as, when it impersonated. */
  readonly impersonatedUser: SimUser | undefined;
  /** Kubernetes verb (`list`, `watch`, …), for non-resource paths the lower-case method. */
  readonly verb: string;
  readonly method: string;
  /** Path and query exactly as received. */
  readonly path: string;
  readonly httpVersion: string;
  /** Name, value, name, value… as received, without HTTP/2 pseudo headers. */
  readonly rawHeaders: readonly string[];
  /** Status code of the answer, once it began. */
  code: number | undefined;
  /** Whether the answer is over. */
  isDone: boolean;
}

/** The audit log of one simulator. */
export interface AuditLog {
  readonly entries: readonly AuditEntry[];
  /** Forgets all entries. */
  clear(): void;
  /** Called for each new entry, and again when its answer is over. Returns the end. */
  subscribe(listener: (entry: AuditEntry) => void): () => void;
}

/** The writing side. */
export interface AuditSink extends AuditLog {
  add(entry: AuditEntry): void;
  finish(entry: AuditEntry): void;
}

/** An audit log that keeps the last `limit` entries. */
export function createAuditLog(limit = 10_000): AuditSink {
  const entries: AuditEntry[] = [];
  const listeners = new Set<(entry: AuditEntry) => void>();
  const tell = (entry: AuditEntry): void => {
    for (const listener of Array.from(listeners)) listener(entry);
  };
  return {
    entries,
    clear: () => void entries.splice(0),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    add(entry) {
      entries.push(entry);
      if (entries.length > limit) entries.shift();
      tell(entry);
    },
    finish(entry) {
      if (entry.isDone) return;
      entry.isDone = true;
      tell(entry);
    },
  };
}
