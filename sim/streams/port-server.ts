// Simulates a server behind a container port: an HTTP request gets an answer, and any other bytes are sent back. Data
// is read no faster than the client takes it back, so that large transfers do not fill the memory.
import type { Duplex } from 'node:stream';

/** Serves one forwarded connection until it ends. `name` is shown to HTTP clients. */
export function servePort(connection: Duplex, name: string): void {
  let head = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const kind = classify(head);
    if (kind === 'unknown') return;
    connection.off('data', onData);
    connection.off('end', onEnd);
    connection.pause();
    if (kind === 'bytes') echoBytes(connection, head);
    else answerHttp(connection, head, name);
  };
  const onEnd = (): void => void connection.end(head);
  connection.on('data', onData);
  connection.on('end', onEnd);
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** When a request head is longer, the bytes are not treated as HTTP but sent back. */
const headLimitBytes = 16 * 1024;

/**
 * Decides what the first bytes are: 'http' for a complete HTTP request head, 'bytes' for what cannot become one, and
 * 'unknown' as long as more bytes are needed to decide.
 */
function classify(head: Buffer): 'http' | 'bytes' | 'unknown' {
  const text = head.toString('latin1', 0, headLimitBytes);
  if (methods.some((method) => `${method} /`.startsWith(text))) return 'unknown';
  const couldBe =
    methods.some((method) => text.startsWith(`${method} /`)) && /^[^\r\n]*( HTTP\/1\.[01]\r?(\n|$)|$)/.test(text);
  if (!couldBe) return 'bytes';
  if (/\r?\n\r?\n/.test(text)) return 'http';
  return text.length >= headLimitBytes ? 'bytes' : 'unknown';
}

function echoBytes(connection: Duplex, first: Buffer): void {
  connection.write(first);
  connection.pipe(connection);
}

/**
 * Answers one HTTP request and closes the connection. A body with a Content-Length is sent back. Otherwise the answer
 * is a text with method and path.
 */
function answerHttp(connection: Duplex, first: Buffer, name: string): void {
  const text = first.toString('latin1');
  const separator = /\r?\n\r?\n/.exec(text);
  const bodyStart = (separator?.index ?? 0) + (separator?.[0].length ?? 0);
  const [line = '', ...fields] = text.slice(0, separator?.index).split(/\r?\n/);
  const [method = '', path = ''] = line.split(' ');
  const field = (wanted: string): string | undefined =>
    fields
      .find((entry) => entry.toLowerCase().startsWith(`${wanted}:`))
      ?.slice(wanted.length + 1)
      .trim();
  const length = Number(field('content-length') ?? 0);
  const head = (type: string, bytes: number): string =>
    'HTTP/1.1 200 OK\r\nServer: simulated\r\n' +
    `Content-Type: ${type}\r\nContent-Length: ${bytes}\r\nConnection: close\r\n\r\n`;
  if (length === 0) {
    const page = `hello from ${name}\n${method} ${path}\n`;
    connection.end(head('text/plain', Buffer.byteLength(page)) + (method === 'HEAD' ? '' : page));
    connection.resume();
    return;
  }
  if (field('expect')?.toLowerCase() === '100-continue') connection.write('HTTP/1.1 100 Continue\r\n\r\n');
  connection.write(head(field('content-type') ?? 'application/octet-stream', length));
  let left = length;
  const echo = (chunk: Buffer): void => {
    const part = chunk.subarray(0, left);
    left -= part.length;
    const isRoomLeft = connection.write(part);
    if (left === 0) {
      connection.end();
      connection.off('data', echo);
      connection.resume();
    } else if (!isRoomLeft) {
      connection.pause();
      connection.once('drain', () => connection.resume());
    }
  };
  connection.on('data', echo);
  const early = first.subarray(bodyStart);
  if (early.length > 0) echo(early);
  connection.resume();
}
