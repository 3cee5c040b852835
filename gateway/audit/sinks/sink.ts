// Where audit events go: a file and a webhook are the same few functions to the rest. Easy to get wrong: an event of a
// request that was let through is taken even by a full sink, or a change that happened would be missing; only new
// requests are held to `accepting`.

/** One place that keeps events. */
export interface AuditSink {
  readonly name: 'log' | 'webhook';
  /** False while an event could not be stored: the next request is refused or goes on unrecorded, as its rule says. */
  readonly accepting: boolean;
  /**
   * Takes one line of JSON without its end. Where the mode is `blocking`, the promise says whether it was stored, and
   * never rejects; otherwise it is stored later.
   */
  write(line: string): Promise<boolean> | undefined;
  /** Resolves when everything taken so far is stored, or after that time. */
  flush(timeoutMs: number): Promise<void>;
  /** Takes no new work; what is left is stored as well as it can be. Lines that come later still are. */
  close(): void;
}

/** Told by sinks; a sink that fails says so once, and once that it is good again. */
export interface SinkEvents {
  /** Something could not be stored yet, and is tried again. */
  failing(error: unknown): void;
  recovered(): void;
  /** These events are gone for good. */
  lost(events: number, error: unknown): void;
}
