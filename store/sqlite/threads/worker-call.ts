// The main thread's side of calls to a worker thread. When the thread ends, all calls without an answer and every later
// call reject, so that no request hangs.
import { extname } from 'node:path';
import { Worker, type Transferable } from 'node:worker_threads';

import { GatewayError, type ErrorCode } from '../../../model/errors.ts';
import { IndexFullError } from '../../index-full.ts';
import type { AnswerMessage, CallMessage, Failure, WorkerEvent } from '../tables/messages.ts';

export interface WorkerCalls {
  readonly call: (operation: string, input: unknown, buffers?: readonly Transferable[]) => Promise<unknown>;
  /** Number of calls without an answer. */
  readonly pending: () => number;
  /** Lets the worker close its files and connections, then ends the worker. */
  readonly close: () => Promise<void>;
}

export interface WorkerOptions {
  /** Name of the worker's file in this folder, without extension. The extension (.ts or .js) is that of this file. */
  readonly name: string;
  readonly data: unknown;
  readonly onEvent: (event: WorkerEvent) => void;
  /** Called once when the worker ends unexpectedly. */
  readonly onDeath: (error: unknown) => void;
}

export function startWorker({ name, data, onEvent, onDeath }: WorkerOptions): WorkerCalls {
  const url = new URL(`./${name}${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(url, { workerData: data, name: `index ${name}` });
  const waiting = new Map<number, { resolve: (output: unknown) => void; reject: (error: unknown) => void }>();
  let lastId = 0;
  let death: GatewayError | undefined;
  let isClosing = false;

  const die = (cause: unknown): void => {
    if (death !== undefined) return;
    death = new GatewayError('INDEX_UNAVAILABLE', 'the index has stopped: try again later', { cause });
    for (const { reject } of waiting.values()) reject(death);
    waiting.clear();
    if (!isClosing) onDeath(cause);
  };
  worker.on('message', (message: AnswerMessage) => {
    if ('event' in message) {
      onEvent(message.event);
      return;
    }
    const call = waiting.get(message.id);
    waiting.delete(message.id);
    if ('failure' in message) call?.reject(errorOf(message.failure));
    else call?.resolve(message.output);
  });
  worker.on('error', die);
  worker.on('exit', (code) => die(new Error(`worker ${name} ended with code ${code}`)));

  const call = (operation: string, input: unknown, buffers: readonly Transferable[] = []): Promise<unknown> => {
    if (death !== undefined) return Promise.reject(death);
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      worker.postMessage({ id, operation, input } satisfies CallMessage, [...buffers]);
    });
  };
  return {
    call,
    pending: () => waiting.size,
    close: async () => {
      isClosing = true;
      if (death === undefined) await call('close', undefined).catch(() => undefined);
      await worker.terminate();
    },
  };
}

function errorOf({ code, message, stack, full }: Failure): Error {
  if (full !== undefined) return new IndexFullError(full);
  if (code !== undefined) return new GatewayError(code as ErrorCode, message);
  const cause = new Error(message);
  if (stack !== undefined) cause.stack = stack;
  return new GatewayError('INDEX_UNAVAILABLE', 'the index cannot answer: see the log of the gateway', { cause });
}
