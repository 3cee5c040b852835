// Records every request that the simulated API server received, in memory. So tests of the gateway in front of the
// simulated server can check which requests arrived, and as which user. An entry is added after authentication, also
// when authentication failed. Its `code` is set when the answer begins.
import type { SimUser } from '../model/types.ts';

/** One request, as this API server received it. */
export interface AuditEntry {
  readonly at: Date;
  readonly auditId: string;
  /** The authenticated caller; undefined when the request got 401. */
  readonly user: SimUser | undefined;
  /** The impersonated user; undefined when the request impersonated nobody. */
  readonly impersonatedUser: SimUser | undefined;
  /** The Kubernetes verb, such as `list` or `watch`; for non-resource paths the HTTP method in lower case. */
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

/** The recorded requests of one simulated API server. Only the last `limit` requests are kept. */
export class AuditLog {
  readonly entries: AuditEntry[] = [];
  readonly #listeners = new Set<(entry: AuditEntry) => void>();
  readonly #limit: number;

  constructor(limit = 10_000) {
    this.#limit = limit;
  }

  /** Removes all entries. */
  clear(): void {
    this.entries.length = 0;
  }

  /**
   * Calls the listener for each new entry, and again for the same entry when its answer has ended. Returns a function
   * that removes the listener.
   */
  subscribe(listener: (entry: AuditEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Records a request. Only the simulated API server calls this. */
  add(entry: AuditEntry): void {
    this.entries.push(entry);
    if (this.entries.length > this.#limit) this.entries.shift();
    for (const listener of Array.from(this.#listeners)) listener(entry);
  }

  /** Records that the answer of a request has ended. Only the simulated API server calls this. */
  finish(entry: AuditEntry): void {
    if (entry.isDone) return;
    entry.isDone = true;
    for (const listener of Array.from(this.#listeners)) listener(entry);
  }
}
