// The HTTP/2 front end of one request, on the core stream API of node:http2. Easy to get wrong: respond() and write() throw on a
// destroyed stream and would take the process down, so each is guarded; and close(code) ends the body properly before it resets.
import { constants } from 'node:http2';
import type { ServerHttp2Stream } from 'node:http2';
import type { BodyFraming, BodyReader, Inbound } from '../routing/exchange.ts';
import type { RawHeaders } from '../routing/transport-types.ts';

/** One HTTP/2 stream of a client. */
export class Http2Inbound implements Inbound {
  readonly protocol = 'HTTP/2.0';
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly body: BodyFraming;
  answered = false;
  closed = false;
  readonly #stream: ServerHttp2Stream;
  #complete = false;
  #bodyless = false;
  #closeListeners: ((aborted: boolean) => void)[] = [];
  // As in http1-inbound.ts: a small answer leaves with END_STREAM on its only DATA frame.
  #held: Buffer | undefined;
  #holding = false;

  constructor(
    stream: ServerHttp2Stream,
    head: { method: string; target: string; body: BodyFraming },
    headers: RawHeaders,
  ) {
    this.method = head.method;
    this.target = head.target;
    this.headers = headers;
    this.body = head.body;
    this.#stream = stream;
    stream.on('error', () => undefined);
    stream.on('close', () => this.#close());
    if (head.body === 'none') stream.resume();
  }

  #close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const listener of this.#closeListeners)
      listener(!this.#complete || this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR);
  }

  readBody(reader: BodyReader): void {
    this.#stream.on('data', (chunk: Buffer) => reader.onData(chunk));
    this.#stream.on('end', () => {
      if (!this.#stream.aborted) reader.onEnd();
    });
  }

  pauseBody(): void {
    this.#stream.pause();
  }

  resumeBody(): void {
    this.#stream.resume();
  }

  respond(status: number, headers: RawHeaders, bodyless: boolean): void {
    // A stream the client has reset is closed first and destroyed later; respond() throws in between.
    if (this.answered || this.closed || this.#stream.destroyed || this.#stream.closed) return;
    const list: string[] = [':status', String(status)];
    for (let i = 0; i < headers.length; i += 2) list.push(headers[i]!.toLowerCase(), headers[i + 1]!);
    try {
      this.#stream.respond(list, { endStream: bodyless });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_HTTP2_HEADER_SINGLE_VALUE') throw error;
      this.#stream.respond(withoutRepeats(list), { endStream: bodyless });
    }
    this.answered = true;
    this.#bodyless = bodyless;
    if (bodyless) return;
    this.#holding = true;
    queueMicrotask(() => this.#release());
  }

  #release(): void {
    if (!this.#holding) return;
    this.#holding = false;
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined && !this.closed && !this.#stream.destroyed) this.#stream.write(held);
  }

  write(chunk: Buffer): boolean {
    if (this.closed || this.#stream.destroyed || this.#bodyless) return true;
    if (this.#holding) {
      if (this.#held === undefined) {
        this.#held = chunk;
        return true;
      }
      this.#release();
    }
    return this.#stream.write(chunk);
  }

  end(): void {
    this.#complete = true;
    if (this.closed || this.#stream.destroyed) return;
    this.#holding = false;
    const stream = this.#stream;
    if (!this.#bodyless) stream.end(this.#held);
    this.#held = undefined;
    // The client need not send the rest of a body nobody reads: RST_STREAM with NO_ERROR behind the answer (RFC 9113 section 8.1).
    if (this.body !== 'none' && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
  }

  /** RST_STREAM with INTERNAL_ERROR and no END_STREAM before it: only destroying leaves the body open, so that a cut answer looks cut. */
  abort(): void {
    if (!this.#stream.destroyed) this.#stream.destroy(new Error('the answer is cut'));
  }

  onDrain(listener: () => void): void {
    this.#stream.on('drain', listener);
  }

  onClose(listener: (aborted: boolean) => void): void {
    if (!this.closed) this.#closeListeners.push(listener);
    else listener(!this.#complete);
  }
}

/** The list with only the first line of every header that may be there once; applications behind services/proxy repeat them. */
function withoutRepeats(list: readonly string[]): string[] {
  const seen = new Set<string>();
  const kept: string[] = [];
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!;
    if (!repeatable.has(name) && seen.has(name)) continue;
    seen.add(name);
    kept.push(name, list[i + 1]!);
  }
  return kept;
}

/** Headers of answers that do come in several lines. */
const repeatable: ReadonlySet<string> = new Set(['cache-control', 'link', 'server-timing', 'vary', 'via', 'warning']);
