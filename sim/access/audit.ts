// Records every request that the simulated API server received, in memory. Tests of a gateway in front of it can see
// what arrived, and as which user. An entry is added once the caller is known; its `code` is set when the answer
// begins.
import type { SimUser } from '../types.ts';

/** One request, as this API server received it. */
export interface AuditEntry {
  readonly at: Date;
  readonly auditId: string;
  /** The authenticated caller; undefined when the request got 401. */
  readonly user: SimUser | undefined;
  /** The impersonated user; undefined when the request impersonated nobody. */
  readonly impersonatedUser: SimUser | undefined;
  /** The Kubernetes verb (`list`, `watch` and so on); for non-resource paths the HTTP method in lower case. */
  readonly verb: string;
  readonly method: string;
  /** Path and query exactly as received. */
  readonly path: string;
  readonly httpVersion: string;
  /** The request's headers as received: names and values in turn, without HTTP/2 pseudo headers. */
  readonly rawHeaders: readonly string[];
  /** Status code of the answer; undefined before the answer begins. */
  code: number | undefined;
  /** True when the answer has ended. */
  isDone: boolean;
}

/** The recorded requests of one simulated API server. */
export interface AuditLog {
  readonly entries: readonly AuditEntry[];
  /** Removes all entries. */
  clear(): void;
  /**
   * Calls the listener for each new entry, and again when its answer has ended. Returns a function that removes the
   * listener.
   */
  subscribe(listener: (entry: AuditEntry) => void): () => void;
}

/** The functions with which the server itself writes the log. */
export interface AuditSink extends AuditLog {
  add(entry: AuditEntry): void;
  finish(entry: AuditEntry): void;
}

/** Makes a log that keeps only the last `limit` entries. */
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
