// The interface that the audit file and the audit webhook share. Even a full sink must take the events of a request
// that was let in: otherwise a change to a cluster would have no record. `accepting: false` only keeps out new
// requests.

/** A destination of audit events. */
export interface AuditSink {
  readonly name: 'log' | 'webhook';
  /**
   * False while the sink can store no events. New requests are then refused or go on unrecorded, depending on the
   * overflow policy.
   */
  readonly accepting: boolean;
  /**
   * Takes one event as a line of JSON without newline. In mode `blocking` the returned promise resolves with true when
   * the event is stored, with false when it is not, and never rejects. In other modes the line is stored later and
   * nothing is returned.
   */
  write(line: string): Promise<boolean> | undefined;
  /** Resolves when all lines written so far are stored, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Stops the sink. Lines that were not stored yet, or are written after this, are still stored if possible. */
  close(): void;
}

/**
 * Callbacks by which a sink reports its state. `failing` is called when storing begins to fail (by the webhook also for
 * each failed write to its disk spool), `recovered` when events are stored again.
 */
export interface SinkEvents {
  /** Called when events could not be stored; the sink goes on trying. */
  failing(error: unknown): void;
  recovered(): void;
  /** Called when `events` audit events can never be stored and are lost. */
  lost(events: number, error: unknown): void;
}
