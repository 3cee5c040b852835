// A fake HTTP/1.1 connection of a client for tests: a pair of streams in place of a socket. Streams pass data on in
// later ticks, so a test must call settle() before it checks a result.
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import type { BodyReader, Inbound } from '../inbound.ts';
import type { Arrival } from '../arrival.ts';
import { unboundedHoldings } from '../client-holdings.ts';
import { Http1Connection } from './http1-connection.ts';

/** A server-side connection together with the client's end of it. */
export interface Line {
  readonly client: Duplex;
  readonly socket: Duplex;
  readonly connection: Http1Connection;
  readonly arrivals: Arrival[];
  /** Each write of the server, as latin1 text. */
  readonly writes: string[];
  /** Everything the client has received, as latin1 text. */
  received(): string;
  drain(): void;
  readonly released: () => number;
}

const peer = { address: '127.0.0.1', serverName: '', certificates: [], tlsAuthorized: false };

/** Waits until the streams have passed on all pending data. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

const holdings = unboundedHoldings();

/**
 * Opens a connection.
 * @param answer called with every request
 */
export function openLine(answer?: (inbound: Inbound, arrival: Arrival) => void): Line {
  const [client, socket] = duplexPair();
  const arrivals: Arrival[] = [];
  const writes: string[] = [];
  let received = '';
  let draining = false;
  let released = 0;
  client.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  client.on('error', () => undefined);
  socket.on('error', () => undefined);
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  socket.write = ((chunk: string | Buffer, ...rest: unknown[]) => {
    writes.push(typeof chunk === 'string' ? chunk : chunk.toString('latin1'));
    return write(chunk, ...rest);
  }) as typeof socket.write;
  const connection = new Http1Connection(socket, peer, {
    arrive(arrival) {
      arrivals.push(arrival);
      answer?.(arrival.inbound, arrival);
    },
    refusal: ({ status }) => ({ status, headers: [], body: Buffer.from(JSON.stringify({ code: status })) }),
    draining: () => draining,
    lostMs: 300_000,
    holdings,
    onReleased: () => (released += 1),
  });
  return {
    client,
    socket,
    connection,
    arrivals,
    writes,
    received: () => received,
    drain() {
      draining = true;
      connection.closeIdle();
    },
    released: () => released,
  };
}

/** Sends latin1 text as the client. */
export const send = (line: Line, text: string): void => void line.client.write(Buffer.from(text, 'latin1'));
/** The text of a GET request without a body. `more` are further header lines, each with its CRLF. */
export const get = (target: string, more = ''): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

/** Answers a request with its own target as body. */
export const echo = (inbound: Inbound): void => {
  inbound.respond(200, ['Content-Length', String(inbound.target.length)], false);
  inbound.write(Buffer.from(inbound.target));
  inbound.end();
};

/** Reads a request body; the returned object is updated as data arrives. */
export function collect(inbound: Inbound): { text: string; ended: boolean } {
  const found = { text: '', ended: false };
  const reader: BodyReader = {
    onData: (chunk) => (found.text += chunk.toString('latin1')),
    onEnd: () => (found.ended = true),
  };
  inbound.readBody(reader);
  return found;
}
