// Asks the hub's API server as the gateway itself: whole answers for lists and reviews, open ones for watches. Easy to
// get wrong: an answer that was cut must throw, since half a list reads like a whole one; and a hub that stops
// answering without closing anything must end the watches, or the caches behind them go stale in silence.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { retryAfterMsOf } from '../../lib/backoff.ts';
import type { HubConnection } from './hub-connection.ts';
import { hubFault, hubUnavailable, isCut } from './hub-faults.ts';
import { makeHubTransport, type HubTransport } from './hub-transport.ts';
import type { HubAnswer, HubCall, HubClient, HubStream } from './hub-types.ts';
import { maxHeaderBytes } from '../../lib/limits.ts';
import type { Credential } from '../model/records.ts';

export interface HubClientOptions {
  /** Sent as `User-Agent: portcullis/<version>`. */
  readonly version: string;
  /** Longest whole answer, decompressed. */
  readonly maxAnswerBytes?: number;
  /** While watches are open and nothing came from the hub for this long, it is asked for a sign of life. */
  readonly silenceMs?: number;
  /** Without an answer to that within this time, the watches are ended. */
  readonly signTimeoutMs?: number;
}

const defaultMaxAnswerBytes = 64 * 1024 * 1024;
const tcpKeepAliveMs = 30_000;
const reviewPath = /^\/apis\/(?:authentication|authorization)\.k8s\.io\//;

/** A review: a POST of which nothing is stored, so it may be sent again like a GET. */
export function isReview({ method, path }: HubCall): boolean {
  return method === 'POST' && reviewPath.test(path);
}

interface Sent {
  readonly request: ClientRequest;
  readonly answer: IncomingMessage;
}

/** @param connection read anew for every request; closed by its owner, not here */
export function makeHubClient(connection: HubConnection, options: HubClientOptions): HubClient {
  const maxAnswerBytes = options.maxAnswerBytes ?? defaultMaxAnswerBytes;
  const silenceMs = options.silenceMs ?? 30_000;
  const userAgent = `portcullis/${options.version}`;
  const open = new Set<Sent>();
  let transport: HubTransport | undefined;
  let heardAtMs = performance.now();
  let asking = false;
  let closed = false;

  const urlNow = (): string => {
    const { host, port } = connection.current().endpoint;
    return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  };

  async function send(call: HubCall, kind: 'short' | 'long', signal: AbortSignal): Promise<Sent> {
    const access = connection.current();
    const credential = await access.credential.current();
    signal.throwIfAborted();
    const agent = transportFor(credential)[kind];
    const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
    const request = httpsRequest({
      agent,
      method: call.method,
      host: access.endpoint.host,
      port: access.endpoint.port,
      path: `${access.endpoint.basePath}${call.path}`,
      maxHeaderSize: maxHeaderBytes,
      headers: {
        accept: call.accept ?? 'application/json',
        // The hub flushes a watch event by event only when it is not compressed.
        'accept-encoding': kind === 'short' ? 'gzip' : 'identity',
        'user-agent': userAgent,
        ...(credential.authorization === undefined ? {} : { authorization: credential.authorization }),
        ...(body === undefined
          ? {}
          : { 'content-type': call.contentType ?? 'application/json', 'content-length': body.length }),
      },
    });
    request.on('socket', (socket) => socket.setKeepAlive(true, tcpKeepAliveMs));
    const giveUp = (): void => void request.destroy(signal.reason as Error);
    signal.addEventListener('abort', giveUp);
    request.once('close', () => signal.removeEventListener('abort', giveUp));
    request.end(body);
    const answer = await headOf(request);
    heardAtMs = performance.now();
    return { request, answer };
  }

  /** Sends once more what an idle connection swallowed, and what a fresher credential may do. */
  async function sendWithRetry(call: HubCall, kind: 'short' | 'long', signal: AbortSignal): Promise<Sent> {
    let sent: Sent;
    try {
      sent = await send(call, kind, signal);
    } catch (error) {
      const harmless = call.method === 'GET' || isReview(call);
      if (!harmless || !(error instanceof CutBeforeHead) || signal.aborted) throw error;
      transport?.closeIdle();
      sent = await send(call, kind, signal);
    }
    if (sent.answer.statusCode !== 401) return sent;
    const before = connection.current().credential;
    const refused = await before.current();
    before.invalidate();
    await connection.reload();
    const now = await connection.current().credential.current();
    const same = now.authorization === refused.authorization && now.clientCertificate === refused.clientCertificate;
    if (same || signal.aborted) return sent;
    sent.request.destroy();
    return send(call, kind, signal);
  }

  function transportFor(credential: Credential): HubTransport {
    const access = connection.current();
    if (transport?.serves(access, credential.clientCertificate) !== true) {
      transport?.retire();
      // A watch may go on for minutes; it is opened again so that it, too, follows the trust of now.
      endStreams(open, hubUnavailable(urlNow(), 'its trust or our certificate changed'));
      transport = makeHubTransport(access, credential.clientCertificate);
    }
    return transport;
  }

  /** Runs `work` under the call's own deadline and signal. */
  async function timed<Result>(call: HubCall, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const url = urlNow();
    if (closed) throw hubUnavailable(url, 'the gateway is stopping');
    const limit = new AbortController();
    const expire = (): void => {
      // Whatever idles may lead to the same dead end.
      transport?.closeIdle();
      limit.abort(hubUnavailable(url, `nothing within ${call.timeoutMs / 1000} s`));
    };
    const timer = setTimeout(expire, call.timeoutMs);
    const leave = (): void => limit.abort(hubUnavailable(url, 'the request was given up'));
    call.signal?.addEventListener('abort', leave);
    if (call.signal?.aborted === true) leave();
    const aborted = new Promise<never>((_, reject) => {
      limit.signal.addEventListener('abort', () => reject(limit.signal.reason as Error));
      if (limit.signal.aborted) reject(limit.signal.reason as Error);
    });
    try {
      return await Promise.race([aborted, work(limit.signal)]);
    } catch (error) {
      throw hubFault(url, error instanceof CutBeforeHead ? error.cause : error);
    } finally {
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', leave);
    }
  }

  async function readAnswer({ request, answer }: Sent, url: string): Promise<HubAnswer> {
    const parts: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of decoded(answer, url)) {
        heardAtMs = performance.now();
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) {
          throw hubUnavailable(url, `its answer is longer than ${Math.floor(maxAnswerBytes / 1024 / 1024)} MiB`);
        }
        parts.push(chunk);
      }
    } catch (error) {
      request.destroy();
      throw error;
    }
    return {
      status: answer.statusCode ?? 0,
      retryAfterMs: retryAfterMsOf(answer.headers['retry-after']),
      body: Buffer.concat(parts),
    };
  }

  async function* chunksOf({ request, answer }: Sent, url: string): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        heardAtMs = performance.now();
        yield chunk;
      }
    } catch (error) {
      throw hubFault(url, error);
    } finally {
      request.destroy();
    }
  }

  /**
   * A connection can be dead without a sign of it for minutes; an API server that lives answers `/livez`, whatever the
   * status.
   */
  async function askForSign(): Promise<void> {
    if (asking || open.size === 0 || performance.now() - heardAtMs < silenceMs) return;
    asking = true;
    const before = [...open];
    try {
      await client.request({ method: 'GET', path: '/livez', timeoutMs: options.signTimeoutMs ?? 10_000 });
    } catch (error) {
      endStreams(before, hubFault(urlNow(), error));
    } finally {
      asking = false;
    }
  }
  const heartbeat = setInterval(() => void askForSign(), silenceMs / 3).unref();

  const client: HubClient = {
    get url() {
      return urlNow();
    },
    request: (call) => timed(call, async (signal) => readAnswer(await sendWithRetry(call, 'short', signal), urlNow())),
    async open(call) {
      const sent = await timed(call, (signal) => sendWithRetry(call, 'long', signal));
      const { request, answer } = sent;
      if (!request.destroyed) open.add(sent);
      request.once('close', () => open.delete(sent));
      const close = (): void => void request.destroy();
      // From here on the signal ends the stream, no longer the wait for it.
      call.signal?.addEventListener('abort', close);
      request.once('close', () => call.signal?.removeEventListener('abort', close));
      if (closed || call.signal?.aborted === true) close();
      const status = answer.statusCode ?? 0;
      return {
        status,
        retryAfterMs: retryAfterMsOf(answer.headers['retry-after']),
        chunks: chunksOf(sent, urlNow()),
        close,
      } satisfies HubStream;
    },
    close() {
      closed = true;
      clearInterval(heartbeat);
      endStreams(open, hubUnavailable(urlNow(), 'the gateway is stopping'));
      transport?.destroy();
    },
  };
  return client;
}

/**
 * Whoever reads them gets `error`: of the answer, since destroying the request would only say that the connection was
 * cut.
 */
function endStreams(streams: Iterable<Sent>, error: Error): void {
  for (const { answer } of streams) answer.destroy(error);
}

/** A pooled connection was closed before the head of the answer: the request may never have been read. */
class CutBeforeHead extends Error {}

function headOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', (error) => {
      reject(request.reusedSocket && isCut(error) ? new CutBeforeHead('cut', { cause: error }) : error);
    });
  });
}

function decoded(answer: IncomingMessage, url: string): AsyncIterable<Buffer> {
  const encoding = answer.headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return answer;
  if (encoding !== 'gzip') {
    answer.resume();
    throw hubUnavailable(url, 'its answer is compressed in a way we did not ask for');
  }
  // Iterating the result throws what either of the two met, a cut included.
  return pipeline(answer, createGunzip(), () => undefined);
}
