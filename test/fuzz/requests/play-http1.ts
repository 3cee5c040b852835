// Plays the bytes of a case on a connection of its own and collects the answers. How many answers are due is taken from
// the gateway's own reading of the bytes, so that nothing has to be waited for that will not come; a deadline passes
// only when something is amiss.
import { setImmediate as turn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { readConnection } from '../connection.ts';
import type { Connection } from '../connection.ts';
import type { Http1Case } from './case.ts';
import { dueMs, openSocket } from './socket.ts';
import type { Endpoint } from '../../site/raw-client.ts';

/** One whole answer. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** The server closes behind it. */
  readonly last: boolean;
  /** It may have no body, as an answer to HEAD. */
  readonly bodyless: boolean;
}

/** What became of a case over HTTP/1.1. */
export interface Http1Outcome {
  readonly read: Connection;
  readonly answers: readonly Answer[];
  /** Neither the answers that are due nor the end of the connection came in time. */
  readonly late: boolean;
  /** What came behind the last whole answer. */
  readonly rest: string;
}

/** Sends the bytes and waits for what is due. */
export async function playHttp1(endpoint: Endpoint, { bytes, pieces }: Http1Case): Promise<Http1Outcome> {
  const sent = Buffer.from(bytes, 'latin1');
  const read = readConnection(sent);
  // Of a request that was refused nothing is known but what stands in the bytes.
  const methods = [...read.requests.map(({ method }) => method), bytes.includes('HEAD ') ? 'HEAD' : ''];
  const socket = await openSocket(endpoint, 'http/1.1');
  const reader = makeAnswerReader(methods);
  const due = read.requests.length + (read.ending === 'refused' ? 1 : 0);
  const isOver = (): boolean => {
    const last = reader.answers.at(-1);
    return reader.answers.length >= due || last?.last === true || last?.status === 101;
  };
  const over = waitFor(socket, reader, isOver);
  const size = Math.max(1, Math.ceil(sent.length / Math.max(1, pieces)));
  for (let at = 0; at < sent.length && !socket.destroyed; at += size) {
    socket.write(sent.subarray(at, at + size));
    if (at + size < sent.length) await turn();
  }
  const late = await over;
  socket.destroy();
  return { read, answers: reader.answers, late, rest: reader.rest() };
}

/** Resolves once it is over or the connection has ended, with false; with true when neither came in time. */
function waitFor(socket: TLSSocket, reader: AnswerReader, isOver: () => boolean): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(true), dueMs);
  const done = (): void => {
    clearTimeout(timer);
    resolve(false);
  };
  if (isOver()) done();
  socket.on('data', (chunk: Buffer) => {
    reader.take(chunk);
    if (isOver()) done();
  });
  socket.on('end', done).on('close', done);
  return promise;
}

interface AnswerReader {
  readonly answers: readonly Answer[];
  take(chunk: Buffer): void;
  rest(): string;
}

/** @param methods of the requests, in order: an answer to HEAD has no body */
function makeAnswerReader(methods: readonly string[]): AnswerReader {
  const answers: Answer[] = [];
  let text = '';
  const next = (): boolean => {
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const head = text.slice(0, end);
    const status = Number(head.split(' ')[1]);
    const value = (name: string): string =>
      new RegExp(`\\r\\n${name}:[ \\t]*(.*)`, 'i').exec(head)?.[1]?.toLowerCase() ?? '';
    if (status === 100) {
      text = text.slice(end + 4);
      return true;
    }
    const bodyless = methods[answers.length] === 'HEAD' || status === 101 || status === 204 || status === 304;
    const body = bodyless
      ? { text: '', used: 0 }
      : value('transfer-encoding') === 'chunked'
        ? chunkedBody(text, end + 4)
        : lengthBody(text, end + 4, Number(value('content-length')));
    if (body === undefined) return false;
    text = text.slice(end + 4 + body.used);
    answers.push({
      status,
      contentType: value('content-type'),
      body: body.text,
      last: value('connection') === 'close',
      bodyless,
    });
    return status !== 101;
  };
  return {
    answers,
    take(chunk) {
      text += chunk.toString('latin1');
      while (next());
    },
    rest: () => text,
  };
}

function lengthBody(text: string, at: number, length: number): { text: string; used: number } | undefined {
  return text.length < at + length ? undefined : { text: text.slice(at, at + length), used: length };
}

function chunkedBody(text: string, from: number): { text: string; used: number } | undefined {
  let body = '';
  for (let at = from; ;) {
    const line = text.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const size = Number.parseInt(text.slice(at, line), 16);
    if (text.length < line + 4 + size) return undefined;
    body += text.slice(line + 2, line + 2 + size);
    at = line + 4 + size;
    if (size === 0) return { text: body, used: at - from };
  }
}
