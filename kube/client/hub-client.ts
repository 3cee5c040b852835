// Sends requests to the hub's API server with the gateway's own credential. `request` returns a whole answer (lists,
// reviews) and throws when the answer was cut, because half a list would look like a complete one. `open` returns a
// stream (watches), whose body is read while it arrives. When the hub stops answering, open streams are ended with an
// error, so that no reader waits for a dead connection.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { retryAfterMsOf } from '../../lib/backoff.ts';
import { bodyOf } from '../call-body.ts';
import type { HubConnection } from './connection.ts';
import { hubFault, hubUnavailable, isCut } from '../faults.ts';
import { makeHubTransport, type HubTransport } from './hub-transport.ts';
import type { ApiAnswer, ApiCall, ApiClient, ApiStream } from '../types.ts';
import { maxHeaderBytes } from '../../lib/limits.ts';
import type { Credential } from '../../model/records.ts';

/** The version to send, and the limits of a client for the hub. */
export interface HubClientOptions {
  /** The version of Portcullis, sent as `User-Agent: portcullis/<version>`. */
  readonly version: string;
  /** Upper limit of the body of a whole answer, after decompression. Default 64 MiB. A longer body is an error. */
  readonly maxAnswerBytes?: number;
  /**
   * When watches are open and no byte came from the hub for this many milliseconds, the client sends GET `/livez`.
   * Default 30,000.
   */
  readonly silenceMs?: number;
  /**
   * When `/livez` is not answered within this many milliseconds, all open watches are ended with an error. Default
   * 10,000.
   */
  readonly signTimeoutMs?: number;
}

const defaultMaxAnswerBytes = 64 * 1024 * 1024;
/** Milliseconds without traffic after which the operating system sends TCP keep-alive probes. */
const tcpKeepAliveMs = 30_000;
const reviewPath = /^\/apis\/(?:authentication|authorization)\.k8s\.io\//;

/**
 * Whether the call is a TokenReview or a SubjectAccessReview. The API server stores nothing for such a POST, so it is
 * safe to send it again.
 */
export function isReview({ method, path }: ApiCall): boolean {
  return method === 'POST' && reviewPath.test(path);
}

/** A request that was sent, and its answer, whose head has come. */
interface Sent {
  readonly request: ClientRequest;
  readonly answer: IncomingMessage;
}

/** `short`: a request whose answer is read at once. `long`: a watch. Each kind has a pool of connections of its own. */
type Kind = 'short' | 'long';

/**
 * Makes a client for the hub's API server.
 * @param connection gives the present address and credential for every request; the client's `close` does not close the
 * connection
 */
export function makeHubClient(connection: HubConnection, options: HubClientOptions): ApiClient {
  return new HttpsHubClient(connection, options);
}

class HttpsHubClient implements ApiClient {
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

  request(call: ApiCall): Promise<ApiAnswer> {
    return this.#timed(call, async (signal) => this.#readAnswer(await this.#sendWithRetry(call, 'short', signal)));
  }

  async open(call: ApiCall): Promise<ApiStream> {
    const sent = await this.#timed(call, (signal) => this.#sendWithRetry(call, 'long', signal));
    const { request, answer } = sent;
    if (!request.destroyed) this.#streams.add(sent);
    request.once('close', () => this.#streams.delete(sent));
    const close = (): void => void request.destroy();
    // #timed no longer listens to `call.signal` once the answer's head has come. From then on, aborting `call.signal`
    // closes the stream.
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

  /**
   * Runs `work` and rejects when `call.timeoutMs` is over or `call.signal` is aborted. Every rejection is
   * HUB_UNAVAILABLE.
   */
  async #timed<Result>(call: ApiCall, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const url = this.url;
    if (this.#closed) throw hubUnavailable(url, 'the gateway is stopping');
    const limit = new AbortController();
    const expire = (): void => {
      // The hub did not answer in time. Pooled idle connections may be dead as well, so they are closed, and the next
      // request opens a new one.
      this.#transport?.closeIdle();
      limit.abort(hubUnavailable(url, `it did not answer within ${call.timeoutMs / 1000} s`));
    };
    const timer = setTimeout(expire, call.timeoutMs);
    const leave = (): void => limit.abort(hubUnavailable(url, 'the request was cancelled'));
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

  /**
   * Sends the call a second time in two cases: a pooled connection was cut before the answer began and the call is safe
   * to repeat, or the answer was 401 and the credential could be renewed.
   */
  async #sendWithRetry(call: ApiCall, kind: Kind, signal: AbortSignal): Promise<Sent> {
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

  /**
   * Loads the credential again after the hub answered 401. Returns true when the new credential differs from the
   * refused one.
   */
  async #renewCredential(): Promise<boolean> {
    const source = this.#connection.current().credential;
    const refused = await source.current();
    source.invalidate();
    await this.#connection.reload();
    const now = await this.#connection.current().credential.current();
    return now.authorization !== refused.authorization || now.clientCertificate !== refused.clientCertificate;
  }

  async #send(call: ApiCall, kind: Kind, signal: AbortSignal): Promise<Sent> {
    const { endpoint, credential: source } = this.#connection.current();
    const credential = await source.current();
    signal.throwIfAborted();
    const body = bodyOf(call);
    const request = httpsRequest({
      agent: this.#transportFor(credential)[kind],
      method: call.method,
      host: endpoint.host,
      port: endpoint.port,
      path: `${endpoint.basePath}${call.path}`,
      maxHeaderSize: maxHeaderBytes,
      headers: {
        accept: call.accept ?? 'application/json',
        // kube-apiserver may buffer watch events when it compresses the answer, so watches ask for no compression.
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
      // Open watches use the old certificate authority or client certificate. They are ended, so that their readers
      // open them again.
      endStreams(
        this.#streams,
        hubUnavailable(this.url, 'its certificate authority or the client certificate was replaced; connecting again'),
      );
      this.#transport = makeHubTransport(access, credential.clientCertificate);
    }
    return this.#transport;
  }

  async #readAnswer({ request, answer }: Sent): Promise<ApiAnswer> {
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
   * Sends GET `/livez` when watches are open and no byte came from the hub for `silenceMs`. When no answer comes, the
   * watches are ended: TCP may take minutes to report a dead connection. An answer with any HTTP status shows that the
   * hub is alive.
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
 * Ends the streams; their readers get `error`. The answer is destroyed and not the request: when the request is
 * destroyed, readers only get a generic "connection cut" error.
 */
function endStreams(streams: Iterable<Sent>, error: Error): void {
  for (const { answer } of streams) answer.destroy(error);
}

/** A pooled connection was closed before the answer's head came. The server may have read the request or not. */
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
    throw hubUnavailable(
      url,
      'its answer has a Content-Encoding that was not requested; check what stands between gateway and hub',
    );
  }
  // When the answer is cut or not valid gzip, iterating the returned stream throws.
  return pipeline(answer, createGunzip(), () => undefined);
}
