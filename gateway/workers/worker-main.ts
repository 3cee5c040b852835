// The program of a worker process. The worker ends when the first process ends. Signals to the whole process group
// (Ctrl-C in a terminal) are ignored: the first process handles them and tells its workers.
import { Socket } from 'node:net';
import { makeChannel } from './channel.ts';
import type { Answer, FromWorker, Port, ToWorker, WorkerStart } from './messages.ts';
import type { FirstProcess } from './sinks.ts';
import { startWorker } from './worker.ts';
import type { Worker } from './worker.ts';
import { errorOfWire, startFaultOf } from './wire-error.ts';

/** The file descriptor of the socket pair: 0 to 2 are the standard streams, 3 is Node's IPC channel for sockets. */
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
  // `accept` is called in the same iteration of the event loop, before any byte is read from the connection.
  if (handle instanceof Socket && worker !== undefined) worker.accept(handle, port);
  // The connection closed before it arrived in this process, so it is reported as closed.
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

/** Ends this process, because the first process has ended or has sent a message that cannot be read. */
function leave(fault: unknown): void {
  if (fault instanceof Error) process.stderr.write(`portcullis worker: ${fault.stack ?? fault.message}\n`);
  process.exit(drained ? 0 : 1);
}
