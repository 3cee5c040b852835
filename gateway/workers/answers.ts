// What the first process answers workers: the hub over its connections, credentials of exec plugins, whether an audit
// line was stored. When one worker's credential was refused, or a new one differs from the last, every worker must ask
// for it anew.
import { GatewayError } from '../../cache/model/errors.ts';
import type { HubClient } from '../../cache/hub/hub-types.ts';
import type { Credential } from '../../cache/model/records.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { ClusterWriter } from './cluster-wire.ts';
import type { Answer, FromWorker, Question, ToWorker } from './messages.ts';
import { wireErrorOf } from './wire-error.ts';
import type { WorkerProcess } from './worker-process.ts';

/** Where answers come from. */
export interface AnswerParts {
  readonly hub: Pick<HubClient, 'request'> | undefined;
  readonly credentials: Pick<ClusterWriter, 'source'>;
  readonly sinks: readonly AuditSink[];
  /** Sends to all workers but one. */
  readonly send: (message: ToWorker, except?: WorkerProcess) => void;
}

/** Makes the function that takes the messages of workers. */
export function makeAnswers(parts: AnswerParts): (worker: WorkerProcess, message: FromWorker) => void {
  const sent = new Map<number, Credential>();

  const credential = async (worker: WorkerProcess, id: number): Promise<Credential> => {
    const source = parts.credentials.source(id);
    if (source === undefined) {
      sent.delete(id);
      throw new GatewayError('MEMBER_CREDENTIAL', 'the credential of the cluster was replaced; ask again');
    }
    const now = await source.current();
    const before = sent.get(id);
    sent.set(id, now);
    if (before !== undefined && before !== now) parts.send({ kind: 'forget-credential', id }, worker);
    return now;
  };
  const store = async (name: AuditSink['name'], line: string): Promise<boolean> =>
    (await parts.sinks.find((sink) => sink.name === name)?.write(line)) ?? true;
  const answerOf = async (worker: WorkerProcess, question: Question): Promise<Answer> => {
    switch (question.what) {
      case 'hub':
        if (parts.hub === undefined) throw new GatewayError('HUB_UNAVAILABLE', 'there is no hub');
        return await parts.hub.request(question.call);
      case 'credential':
        return await credential(worker, question.id);
      case 'audit':
        return await store(question.sink, question.line);
    }
  };

  return (worker, message) => {
    switch (message.kind) {
      case 'ask': {
        const { id, question } = message;
        answerOf(worker, question).then(
          (answer) => worker.send({ kind: 'answer', id, answer }),
          (error: unknown) => worker.send({ kind: 'failure', id, error: wireErrorOf(error) }),
        );
        return;
      }
      case 'credential-refused':
        parts.credentials.source(message.id)?.invalidate();
        parts.send({ kind: 'forget-credential', id: message.id }, worker);
        return;
      case 'audit':
        void parts.sinks.find(({ name }) => name === message.sink)?.write(message.line);
        return;
      default:
        throw new Error(`a worker does not say ${message.kind} here`);
    }
  };
}
