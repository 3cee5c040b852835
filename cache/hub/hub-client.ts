// Asks the hub's API server as the gateway itself: whole answers for lists and reviews, open ones for watches. An
// answer that was cut throws, since half a list reads like a whole one. Watches end when the hub stops answering, so
// that the caches behind them do not go stale in silence.
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
  /** While watches are open and nothing came from the hub for this long, the client asks it for a sign of life. */
  readonly silenceMs?: number;
  /** The watches end when no sign of life comes within this time. */
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

type Kind = 'short' | 'long';

/** @param connection read anew for every request; closed by its owner, not here */
export function makeHubClient(connection: HubConnection, options: HubClientOptions): HubClient {
  return new HttpsHubClient(connection, options);
}

class HttpsHubClient implements HubClient {
  readonly #connection: HubConnection;
  readonly #userAgent: string;
  readonly #maxAnswerBytes: number;
  readonly #silenceMs: number;
  readonly #signTimeoutMs: number;
  readonly #streams = new Set<Sent>();
  readonly #heartbeat: NodeJS.Timeout;
  #transport: HubTransport | undefined;
  #heardAtMs = performance.now();
  #asking = false;
  #closed = false;

  constructor(connection: HubConnection, options: HubClientOptions) {
    this.#connection = connection;
    this.#userAgent = `portcullis/${options.version}`;
    this.#maxAnswerBytes = options.maxAnswerBytes ?? defaultMaxAnswerBytes;
    this.#silenceMs = options.silenceMs ?? 30_000;
    this.#signTimeoutMs = options.signTimeoutMs ?? 10_000;
    this.#heartbeat = setInterval(() => void this.#askForSign(), this.#silenceMs / 3).unref();
  }

  get url(): string {
    const { host, port } = this.#connection.current().endpoint;
    return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  request(call: HubCall): Promise<HubAnswer> {
    return this.#timed(call, async (signal) => this.#readAnswer(await this.#sendWithRetry(call, 'short', signal)));
  }

  async open(call: HubCall): Promise<HubStream> {
    const sent = await this.#timed(call, (signal) => this.#sendWithRetry(call, 'long', signal));
    const { request, answer } = sent;
    if (!request.destroyed) this.#streams.add(sent);
    request.once('close', () => this.#streams.delete(sent));
    const close = (): void => void request.destroy();
    // From here on the signal ends the stream, no longer the wait for it.
    call.signal?.addEventListener('abort', close);
    request.once('close', () => call.signal?.removeEventListener('abort', close));
    if (this.#closed || call.signal?.aborted === true) close();
    return {
      status: answer.statusCode ?? 0,
      retryAfterMs: retryAfterMsOf(answer.headers['retry-after']),
      chunks: this.#chunksOf(sent, this.url),
      close,
    };
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#heartbeat);
    endStreams(this.#streams, hubUnavailable(this.url, 'the gateway is stopping'));
    this.#transport?.destroy();
  }

  /** Runs `work` under the call's own deadline and signal. */
  async #timed<Result>(call: HubCall, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const url = this.url;
    if (this.#closed) throw hubUnavailable(url, 'the gateway is stopping');
    const limit = new AbortController();
    const expire = (): void => {
      // Idle connections may lead to the same dead end.
      this.#transport?.closeIdle();
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

  /** Sends again what an idle connection swallowed, and what a fresher credential may do. */
  async #sendWithRetry(call: HubCall, kind: Kind, signal: AbortSignal): Promise<Sent> {
    let sent: Sent;
    try {
      sent = await this.#send(call, kind, signal);
    } catch (error) {
      const harmless = call.method === 'GET' || isReview(call);
      if (!harmless || !(error instanceof CutBeforeHead) || signal.aborted) throw error;
      this.#transport?.closeIdle();
      sent = await this.#send(call, kind, signal);
    }
    if (sent.answer.statusCode !== 401 || !(await this.#renewCredential()) || signal.aborted) return sent;
    sent.request.destroy();
    return this.#send(call, kind, signal);
  }

  /** After a 401. True when there is another credential now. */
  async #renewCredential(): Promise<boolean> {
    const source = this.#connection.current().credential;
    const refused = await source.current();
    source.invalidate();
    await this.#connection.reload();
    const now = await this.#connection.current().credential.current();
    return now.authorization !== refused.authorization || now.clientCertificate !== refused.clientCertificate;
  }

  async #send(call: HubCall, kind: Kind, signal: AbortSignal): Promise<Sent> {
    const { endpoint, credential: source } = this.#connection.current();
    const credential = await source.current();
    signal.throwIfAborted();
    const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
    const request = httpsRequest({
      agent: this.#transportFor(credential)[kind],
      method: call.method,
      host: endpoint.host,
      port: endpoint.port,
      path: `${endpoint.basePath}${call.path}`,
      maxHeaderSize: maxHeaderBytes,
      headers: {
        accept: call.accept ?? 'application/json',
        // The hub flushes a watch event by event only when it is not compressed.
        'accept-encoding': kind === 'short' ? 'gzip' : 'identity',
        'user-agent': this.#userAgent,
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
    this.#heardAtMs = performance.now();
    return { request, answer };
  }

  #transportFor(credential: Credential): HubTransport {
    const access = this.#connection.current();
    if (this.#transport?.serves(access, credential.clientCertificate) !== true) {
      this.#transport?.retire();
      // A watch may go on for minutes. It is opened again so that it follows the present trust, too.
      endStreams(this.#streams, hubUnavailable(this.url, 'its trust or our certificate changed'));
      this.#transport = makeHubTransport(access, credential.clientCertificate);
    }
    return this.#transport;
  }

  async #readAnswer({ request, answer }: Sent): Promise<HubAnswer> {
    const url = this.url;
    const parts: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of decoded(answer, url)) {
        this.#heardAtMs = performance.now();
        bytes += chunk.length;
        if (bytes > this.#maxAnswerBytes) {
          const mebibytes = Math.floor(this.#maxAnswerBytes / 1024 / 1024);
          throw hubUnavailable(url, `its answer is longer than ${mebibytes} MiB`);
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

  async *#chunksOf({ request, answer }: Sent, url: string): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        this.#heardAtMs = performance.now();
        yield chunk;
      }
    } catch (error) {
      throw hubFault(url, error);
    } finally {
      request.destroy();
    }
  }

  /**
   * Ends the watches of a hub that is silently gone: a dead connection may show no sign for minutes. An API server that
   * lives answers `/livez`, whatever the status.
   */
  async #askForSign(): Promise<void> {
    if (this.#asking || this.#streams.size === 0) return;
    if (performance.now() - this.#heardAtMs < this.#silenceMs) return;
    this.#asking = true;
    const before = [...this.#streams];
    try {
      await this.request({ method: 'GET', path: '/livez', timeoutMs: this.#signTimeoutMs });
    } catch (error) {
      endStreams(before, hubFault(this.url, error));
    } finally {
      this.#asking = false;
    }
  }
}

/**
 * Ends the streams with `error` for their readers. It destroys the answer: with the request destroyed, readers would
 * learn only that the connection was cut.
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
  // Iterating the result throws the error of either stream, a cut included.
  return pipeline(answer, createGunzip(), () => undefined);
}
