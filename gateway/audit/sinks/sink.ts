// The interface of a file and a webhook that keep audit events. Even a full sink takes the events of a request that was
// let through, or a change that happened would be missing; `accepting` only holds back new requests.

/** One place that keeps events. */
export interface AuditSink {
  readonly name: 'log' | 'webhook';
  /** False while no event can be stored; the next request is then refused or goes on unrecorded, by its rule. */
  readonly accepting: boolean;
  /**
   * Takes one line of JSON without its end. In mode `blocking` the promise resolves with whether it was stored, and
   * never rejects; otherwise the line is stored later.
   */
  write(line: string): Promise<boolean> | undefined;
  /** Resolves when all lines taken so far are stored, or after that time. */
  flush(timeoutMs: number): Promise<void>;
  /** Stops the sink. It still tries to store what is left, and lines that come later. */
  close(): void;
}

/** Called by sinks: once when a sink begins to fail, once when it works again. */
export interface SinkEvents {
  /** Events could not be stored and are tried again. */
  failing(error: unknown): void;
  recovered(): void;
  /** These events are gone for good. */
  lost(events: number, error: unknown): void;
}
