// The interface that the audit file and the audit webhook share. Even a full sink must take the events of a request
// that was let in: otherwise a change to a cluster would have no record. `accepting` only keeps new requests out.

/** A destination of audit events. */
export interface AuditSink {
  readonly name: 'log' | 'webhook';
  /**
   * False while no event can be stored. A new request is then refused or goes on unrecorded, as the overflow policy
   * says.
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
  /** Stops the sink. Lines that are left, or written after this, are still stored if possible. */
  close(): void;
}

/** Callbacks of a sink. `failing` and `recovered` are called once for each outage. */
export interface SinkEvents {
  /** Events could not be stored; the sink goes on trying. */
  failing(error: unknown): void;
  recovered(): void;
  /** So many events can never be stored and are lost. */
  lost(events: number, error: unknown): void;
}
