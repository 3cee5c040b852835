// Writes answers as a kube-apiserver does: JSON or YAML with the usual headers, gzip for large bodies, a Status for
// errors. A large list is written in parts, and each part only when the client has read enough of the part before, so
// that a slow client does not fill the memory.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createGzip } from 'node:zlib';
import type { Writable } from 'node:stream';
import { stringify } from 'yaml';
import type { Call } from './cluster.ts';
import { headerValue } from '../wire/headers.ts';
import { StatusError, internalError } from '../model/status-error.ts';
import type { JsonObject } from '../model/types.ts';

/**
 * Bodies of at least this many characters are compressed if the client accepts gzip, as in kube-apiserver. A shorter
 * body is sent at once, with a Content-Length.
 */
const gzipFromBytes = 128 * 1024;

/** The headers that every answer of the simulated API server has. */
export function commonHeaders(
  call: Pick<Call, 'auditId' | 'warnings'>,
  contentType: string,
): Record<string, string | string[]> {
  return {
    'audit-id': call.auditId,
    'cache-control': 'no-cache, private',
    'content-type': contentType,
    ...(call.warnings.length === 0
      ? {}
      : { warning: call.warnings.map((text) => `299 - "${text.replace(/[\\"]/g, '\\$&')}"`) }),
  };
}

/** Answers with one object, in the format that the client accepts. */
export async function sendObject(call: Call, code: number, body: unknown): Promise<void> {
  if (call.accept.format === 'yaml') await sendPieces(call, code, 'application/yaml', [stringify(body)]);
  else await sendPieces(call, code, 'application/json', [JSON.stringify(body)]);
}

/**
 * Answers with the text that the pieces make together. The text is compressed when it is long and the client accepts
 * gzip.
 */
export async function sendPieces(
  call: Call,
  code: number,
  contentType: string,
  pieces: Iterable<string>,
): Promise<void> {
  const { reply } = call;
  const headers = commonHeaders(call, contentType);
  if (call.request.method === 'HEAD') {
    reply.writeHead(code, headers).end();
    return;
  }
  const iterator = pieces[Symbol.iterator]();
  const held: string[] = [];
  let heldLength = 0;
  let next = iterator.next();
  while (next.done !== true && heldLength < gzipFromBytes) {
    held.push(next.value);
    heldLength += next.value.length;
    next = iterator.next();
  }
  if (next.done === true && heldLength < gzipFromBytes) {
    const body = Buffer.from(held.join(''));
    reply.writeHead(code, { ...headers, 'content-length': String(body.length) }).end(body);
    return;
  }
  const isGzip = /\bgzip\b/.test(headerValue(call.rawHeaders, 'accept-encoding') ?? '');
  reply.writeHead(code, isGzip ? { ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' } : headers);
  let sink: Writable = reply;
  if (isGzip) {
    const gzip = createGzip({ level: 1 });
    gzip.on('error', () => {});
    reply.once('close', () => gzip.destroy());
    gzip.pipe(reply);
    sink = gzip;
  }
  await writePiece(sink, reply, held.join(''));
  while (next.done !== true && !reply.destroyed) {
    await writePiece(sink, reply, next.value);
    next = iterator.next();
  }
  sink.end();
}

async function writePiece(sink: Writable, reply: ServerResponse, piece: string): Promise<void> {
  if (reply.destroyed || sink.destroyed || sink.write(piece)) return;
  const aborter = new AbortController();
  const stop = (): void => aborter.abort();
  reply.once('close', stop);
  try {
    await once(sink, 'drain', { signal: aborter.signal });
  } catch {
    // The client has disconnected. The caller's loop ends because the reply is destroyed.
  } finally {
    reply.removeListener('close', stop);
  }
}

/** Returns a StatusError as it is; any other error, which is a bug of the simulator, becomes a 500. */
export function asStatusError(error: unknown): StatusError {
  return error instanceof StatusError ? error : internalError(error instanceof Error ? error.message : 'unknown');
}

/**
 * Answers with an error. When the headers were already sent, the connection is closed instead, so that the client sees
 * an incomplete answer.
 */
export function sendFailure(reply: ServerResponse, error: unknown, auditId: string, warnings: string[] = []): void {
  const failure = asStatusError(error);
  if (reply.headersSent) {
    reply.destroy();
    return;
  }
  const type = failure.plainText === undefined ? 'application/json' : 'text/plain; charset=utf-8';
  const body = Buffer.from(failure.plainText ?? JSON.stringify(failure.toStatus()));
  reply.writeHead(failure.code, {
    ...commonHeaders({ auditId, warnings }, type),
    'x-content-type-options': 'nosniff',
    'content-length': String(body.length),
    ...failure.headers,
  });
  reply.end(body);
}

/** The `metav1.Status` of a successful request. */
export function successStatus(details: JsonObject): JsonObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
