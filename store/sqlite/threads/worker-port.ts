// The worker thread's side of calls from the main thread: runs operations by name, and answers each call, even when the
// operation throws. An error loses its class when it is sent to another thread, so the class is sent as data.
import { parentPort, type Transferable } from 'node:worker_threads';

import { GatewayError } from '../../../model/errors.ts';
import { IndexFullError } from '../../index-full.ts';
import { isDamage } from '../write/file.ts';
import type { AnswerMessage, CallMessage, Failure, WorkerEvent } from '../tables/messages.ts';

export type Operation = (input: never) => unknown;

/** An output together with buffers that are transferred instead of copied. */
export class Handover {
  readonly output: unknown;
  readonly buffers: readonly Transferable[];

  constructor(output: unknown, buffers: readonly Transferable[]) {
    this.output = output;
    this.buffers = buffers;
  }
}

/**
 * Answers calls until the port is closed.
 * @param onDamage called when an operation fails because the file is damaged
 */
export function serve(operations: Readonly<Record<string, Operation>>, onDamage: (error: unknown) => void): void {
  const port = parentPort!;
  const answer = (message: AnswerMessage, buffers: readonly Transferable[] = []): void => {
    port.postMessage(message, [...buffers]);
  };
  port.on('message', async ({ id, operation, input }: CallMessage) => {
    try {
      const output = await operations[operation]!(input as never);
      if (output instanceof Handover) answer({ id, output: output.output }, output.buffers);
      else answer({ id, output });
    } catch (error) {
      if (isDamage(error)) onDamage(error);
      answer({ id, failure: failureOf(error) });
    }
  });
}

export function report(event: WorkerEvent): void {
  parentPort!.postMessage({ id: 0, event } satisfies AnswerMessage, []);
}

function failureOf(error: unknown): Failure {
  if (error instanceof IndexFullError) return { code: error.code, message: error.message, full: error.type };
  if (error instanceof GatewayError) return { code: error.code, message: error.message };
  if (error instanceof Error)
    return { message: error.message, ...(error.stack === undefined ? {} : { stack: error.stack }) };
  return { message: String(error) };
}
