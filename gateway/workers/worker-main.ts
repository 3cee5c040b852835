// What a worker process runs: its end of the private socket pair, the sockets that are handed over, and its own end. It
// never outlives the first process. Signals for the process group (Ctrl-C in a terminal) are for the first process
// alone.
import { Socket } from 'node:net';
import { makeChannel } from './channel.ts';
import type { Answer, FromWorker, Port, ToWorker, WorkerStart } from './messages.ts';
import type { FirstProcess } from './sinks.ts';
import { startWorker } from './worker.ts';
import type { Worker } from './worker.ts';
import { errorOfWire, startFaultOf } from './wire-error.ts';

/** Behind standard streams and the channel for sockets. */
const channelFd = 4;

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);

const pair = new Socket({ fd: channelFd, readable: true, writable: true });
const asked = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
const early: ToWorker[] = [];
let lastId = 0;
let worker: Worker | undefined;
let drained = false;

const channel = makeChannel<ToWorker, FromWorker>(pair, { onMessage: receive, onEnd: leave });
const first: FirstProcess = {
  ask(question) {
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      asked.set(id, { resolve, reject });
      channel.send({ kind: 'ask', id, question });
    });
  },
  send(message) {
    channel.send(message);
    if (message.kind !== 'drained') return;
    drained = true;
    pair.end(() => process.exit(0));
  },
  get queuedBytes() {
    return channel.queuedBytes;
  },
};

process.on('message', ({ port }: { readonly port: Port }, handle) => {
  // Accepted in this turn, before anything is read from it.
  if (handle instanceof Socket && worker !== undefined) worker.accept(handle, port);
  // The connection closed before it was handed over.
  else if (port === 'requests') channel.send({ kind: 'closed', connections: 1 });
});
process.on('disconnect', () => leave(undefined));

function receive(message: ToWorker): void {
  if (message.kind === 'answer' || message.kind === 'failure') {
    const waiting = asked.get(message.id);
    asked.delete(message.id);
    if (message.kind === 'answer') waiting?.resolve(message.answer);
    else waiting?.reject(errorOfWire(message.error));
  } else if (message.kind === 'ping') channel.send({ kind: 'pong' });
  else if (message.kind === 'start') void begin(message.start);
  else if (worker === undefined) early.push(message);
  else worker.receive(message);
}

async function begin(start: WorkerStart): Promise<void> {
  try {
    worker = await startWorker(start, first);
  } catch (error) {
    channel.send({ kind: 'failed', fault: startFaultOf(error) });
    pair.end(() => process.exit(1));
    return;
  }
  for (const message of early.splice(0)) worker.receive(message);
}

/** The first process is gone, or its message cannot be read: this worker has no connections any more. */
function leave(fault: unknown): void {
  if (fault instanceof Error) process.stderr.write(`portcullis worker: ${fault.stack ?? fault.message}\n`);
  process.exit(drained ? 0 : 1);
}
