// The audit sinks of a worker. They send each line to the first process, which alone writes to the file or the webhook.
// So lines of several workers are never mixed, and only one process rotates the file.
import type { AuditConfig } from '../../config/sections/audit-config.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { Answer, FromWorker, Question, SinkStates } from './messages.ts';

/** The functions with which a worker sends messages and questions to the first process. */
export interface FirstProcess {
  /**
   * Asks the first process and resolves with its answer.
   * @throws GatewayError (rejects) with the error of the first process
   */
  ask(question: Question): Promise<Answer>;
  send(message: FromWorker): void;
  /** Number of bytes that were sent to the first process and that it has not read yet. */
  readonly queuedBytes: number;
}

/** Audit sinks whose lines go to the first process. */
export interface SentSinks {
  readonly sinks: readonly AuditSink[];
  update(accepting: SinkStates): void;
}

/** When more bytes than this wait to be read by the first process, `accepting` of the sinks becomes false. */
const maxQueuedBytes = 16 * 1024 * 1024;

export function makeSentSinks(accepting: SinkStates, config: AuditConfig | undefined, first: FirstProcess): SentSinks {
  let current = accepting;
  const makeSink = (sink: AuditSink['name']): AuditSink => {
    const waits = sink === 'webhook' && config?.webhook?.mode === 'blocking';
    return {
      name: sink,
      get accepting() {
        return current.get(sink) === true && first.queuedBytes < maxQueuedBytes;
      },
      write(line) {
        if (!waits) {
          first.send({ kind: 'audit', sink, line });
          return undefined;
        }
        return first.ask({ what: 'audit', sink, line }).then(
          (stored) => stored === true,
          () => false,
        );
      },
      // Nothing needs to be flushed: the channel keeps the order of lines, and the first process stores every line that
      // it has received.
      flush: () => Promise.resolve(),
      close: () => undefined,
    };
  };
  return { sinks: [...accepting.keys()].map(makeSink), update: (next) => void (current = next) };
}
