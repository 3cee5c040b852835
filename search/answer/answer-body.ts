// Writes an answer to the client, no faster than the client reads it. Writing waits while the client is slow, and stops
// when the client disconnects.
import type { GatewayError } from '../../model/errors.ts';
import { ownHeaders } from '../../http/own-headers.ts';
import { warningHeader } from '../../routing/forward/warning.ts';
import type { OpenStream, OpenStreams } from '../../routing/forward/open-streams.ts';
import type { IndexRequest } from '../request/request.ts';

/** Thrown by `write` when the client disconnected, or other code ended the answer, such as a drain of the gateway. */
export class ClientGone extends Error {
  constructor() {
    super('the client is gone');
    this.name = 'ClientGone';
  }
}

/** An answer that is sent in parts. Writing to it waits while the client is slow. */
export interface AnswerBody {
  /** Resolves when the client can take more bytes. @throws ClientGone (rejects) */
  write(chunk: Buffer): Promise<void>;
  /** True when the answer has ended, for whatever reason. */
  readonly isOver: boolean;
  end(): void;
  /** Closes the connection, so that the client notices that the answer is incomplete. */
  abort(): void;
}

/** A text for a `Warning` header. It is about a cluster, or about the request when `cluster` is undefined. */
export interface Warning {
  readonly cluster: string | undefined;
  readonly text: string;
}

/** Limit of `Warning` headers in one answer. When there are more, the last header says how many are missing. */
const maxWarnings = 30;

/** Returns a `Warning` header for each warning, as an array of header names and values in turn. */
export function warningHeaders(warnings: readonly Warning[]): string[] {
  const shown = warnings.length <= maxWarnings ? warnings : warnings.slice(0, maxWarnings - 1);
  const headers = shown.flatMap(({ cluster, text }) => ['Warning', warningHeader(cluster, text)]);
  if (shown.length < warnings.length) {
    const left = `${warnings.length - shown.length} more warnings; ask …/indexes/default/freshness for all`;
    headers.push('Warning', warningHeader(undefined, left));
  }
  return headers;
}

/**
 * Sends a complete answer. The body may be given in several parts.
 * @param more further headers, as names and values in turn
 */
export function sendWhole(
  request: IndexRequest,
  body: Buffer | readonly Buffer[],
  warnings: readonly Warning[] = [],
  contentType?: string,
  status = 200,
  more: readonly string[] = [],
): void {
  const { inbound, progress, auditId } = request;
  const bodyless = inbound.method === 'HEAD' || status === 304;
  progress.status = status;
  progress.onAnswering?.();
  const pieces = Buffer.isBuffer(body) ? [body] : body;
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const length = status === 304 ? [] : ['Content-Length', String(bytes)];
  const headers = [...ownHeaders(auditId, contentType), ...length, ...more];
  inbound.respond(status, [...headers, ...warningHeaders(warnings)], bodyless);
  if (!bodyless) {
    progress.bytesOut += bytes;
    for (const piece of pieces) inbound.write(piece);
  }
  inbound.end();
}

/** An answer of unknown length: `short` for one that ends by itself, such as a list, and `watch` for a watch. */
export interface LongAnswer {
  readonly kind: 'short' | 'watch';
  /** Called when the answer has ended, for whatever reason. */
  readonly onOver?: () => void;
  readonly contentType?: string | undefined;
  /** Further headers, as names and values in turn. */
  readonly headers?: readonly string[];
}

/**
 * Sends status and headers of an answer of unknown length. The answer counts as an open request until it ends. When the
 * gateway drains, it waits for a list, and ends a watch between two events.
 */
export function beginBody(
  request: IndexRequest,
  warnings: readonly Warning[],
  openStreams: OpenStreams,
  answer: LongAnswer = { kind: 'short' },
): AnswerBody {
  const { inbound, progress, auditId } = request;
  const body = new OpenBody(request, openStreams, answer);
  progress.status = 200;
  progress.onAnswering?.();
  const headers = [...ownHeaders(auditId, answer.contentType), ...(answer.headers ?? []), ...warningHeaders(warnings)];
  inbound.respond(200, headers, inbound.method === 'HEAD');
  return body;
}

/**
 * An answer that is being written. Its writer uses it, and so does code that may end it from outside, such as a drain.
 */
class OpenBody implements AnswerBody {
  readonly #request: IndexRequest;
  readonly #openStreams: OpenStreams;
  readonly #answer: LongAnswer;
  readonly #open: OpenStream & { blockedSinceMs: number };
  #wake: (() => void) | undefined;
  #isOver = false;

  constructor(request: IndexRequest, openStreams: OpenStreams, answer: LongAnswer) {
    this.#request = request;
    this.#openStreams = openStreams;
    this.#answer = answer;
    this.#open = this.#openStream();
    openStreams.add(this.#open);
    request.inbound.onDrain(() => this.#goOn());
    request.inbound.onClose(() => this.#over());
    request.progress.open = this.#open;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  async write(chunk: Buffer): Promise<void> {
    const { inbound, progress } = this.#request;
    if (this.#isOver || inbound.closed) throw new ClientGone();
    progress.bytesOut += chunk.length;
    if (inbound.write(chunk)) return;
    this.#open.blockedSinceMs = performance.now();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    if (this.#isOver) throw new ClientGone();
  }

  end(): void {
    this.#request.inbound.end();
    this.#over();
  }

  abort(): void {
    this.#request.inbound.abort();
    this.#over();
  }

  #openStream(): OpenStream & { blockedSinceMs: number } {
    const { kind } = this.#answer;
    return {
      kind,
      place: -1,
      clusterName: '',
      clusterUid: '',
      blockedSinceMs: 0,
      // Each write of a watch contains complete events, so a watch can be ended at any moment.
      endAtBoundary: () => {
        if (kind === 'watch') this.end();
        return kind === 'watch';
      },
      abort: (reason) => this.#cut(reason),
      end: (reason, statusJson) => {
        if (kind === 'short') {
          this.#cut(reason);
          return;
        }
        this.#request.outcome.error ??= reason;
        this.#request.inbound.write(errorEvent(statusJson));
        this.end();
      },
    };
  }

  #cut(reason: GatewayError): void {
    this.#request.outcome.error ??= reason;
    this.abort();
  }

  #goOn(): void {
    this.#open.blockedSinceMs = 0;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#openStreams.delete(this.#open);
    this.#goOn();
    this.#answer.onOver?.();
  }
}

/** The ERROR event with which a watch ends. @param statusJson a metav1.Status */
export function errorEvent(statusJson: string): Buffer {
  return Buffer.from(`{"type":"ERROR","object":${statusJson}}\n`);
}
