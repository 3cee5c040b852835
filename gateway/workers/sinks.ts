// Audit sinks as a worker has them: the first process writes, so that lines of several workers are never mixed and one
// process rotates the file.
import type { AuditConfig } from '../audit/config.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { Answer, FromWorker, Question, SinkStates } from './messages.ts';

/** How a worker reaches the first process. */
export interface FirstProcess {
  /** @throws GatewayError (rejects) what the first process was answered */
  ask(question: Question): Promise<Answer>;
  send(message: FromWorker): void;
  /** Bytes of messages that it has not taken yet. */
  readonly queuedBytes: number;
}

/** Sinks that the first process keeps. */
export interface SentSinks {
  readonly sinks: readonly AuditSink[];
  update(accepting: SinkStates): void;
}

/** Bytes of lines that may wait for the first process before a sink counts as full. */
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
      // The channel keeps the order, and the first process stores what it was sent.
      flush: () => Promise.resolve(),
      close: () => undefined,
    };
  };
  return { sinks: [...accepting.keys()].map(makeSink), update: (next) => void (current = next) };
}
