// Writes the joined answer of many clusters to the client: sends the head, waits while the client is slow, and stops
// when the client goes away or the gateway ends the answer. Easy to get wrong: after the head, only a cut connection
// shows the client that something failed. So `end` must be called only when the answer is complete.
import { GatewayError } from '../../../model/errors.ts';
import { ownHeaders } from '../../../http/own-headers.ts';
import { warningHeader } from '../../../routing/forward/warning.ts';
import type { OpenStream, OpenStreams } from '../../../routing/forward/open-streams.ts';
import type { Authorized } from '../../../request/exchange.ts';
import type { FanoutDependencies } from './dependencies.ts';

/** How the gateway may end the answer before it is complete, for example when it shuts down. */
export interface Ending {
  readonly kind: 'short' | 'watch';
  /**
   * Only for a watch: called at most once, when the gateway ends the watch. With a Status as JSON, the watch must send
   * it as the last event; with undefined, the watch must end after a complete event.
   */
  readonly onEnd?: (statusJson: string | undefined) => void;
}

/**
 * Makes the writer and adds its answer to the open streams. When `onEnd` is absent, the gateway can end the answer only
 * by cutting the connection.
 * @param notice a text for a further `Warning` header
 */
export function makeAnswerWriter(
  state: Authorized,
  { openStreams }: Pick<FanoutDependencies, 'openStreams'>,
  ending: Ending,
  notice?: string,
): AnswerWriter {
  return new StreamedAnswer(state, openStreams, ending, notice);
}

/** Writes the joined answer of many clusters to the client. */
export type AnswerWriter = Pick<StreamedAnswer, keyof StreamedAnswer>;

class StreamedAnswer {
  readonly #state: Authorized;
  readonly #openStreams: OpenStreams;
  readonly #notice: readonly string[];
  readonly #open: OpenStream;
  readonly #over = new AbortController();
  #blockedSinceMs = 0;
  #waiting: (() => void)[] = [];

  constructor(state: Authorized, openStreams: OpenStreams, ending: Ending, notice: string | undefined) {
    this.#state = state;
    this.#notice = notice === undefined ? [] : ['Warning', warningHeader(undefined, notice)];
    this.#openStreams = openStreams;
    this.#open = this.#openStream(ending);
    openStreams.add(this.#open);
    state.progress.open = this.#open;
    state.inbound.onClose((aborted) => {
      this.close();
      if (!aborted) return;
      this.#over.abort(new GatewayError('BAD_REQUEST', 'the client went away'));
      this.#wake();
    });
    state.inbound.onDrain(() => {
      this.#blockedSinceMs = 0;
      this.#wake();
    });
  }

  /** Aborted when the client has closed the connection or the gateway has ended the answer. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /**
   * Sends status and headers.
   * @param headers headers in addition to those that every JSON answer has
   */
  head(status: number, headers: readonly string[] = [], contentType = 'application/json'): void {
    const { inbound, progress, auditId } = this.#state;
    progress.status = status;
    progress.onAnswering?.();
    const own = ownHeaders(auditId, contentType);
    inbound.respond(status, [...own, ...this.#notice, ...headers], inbound.method === 'HEAD');
  }

  /**
   * Writes bytes; resolves when the client is ready for more. Rejects with the abort reason of `signal` when the answer
   * has already been ended.
   */
  async write(bytes: Buffer): Promise<void> {
    const { inbound, progress } = this.#state;
    this.signal.throwIfAborted();
    if (inbound.method === 'HEAD') return;
    progress.bytesOut += bytes.length;
    if (inbound.write(bytes)) return;
    this.#blockedSinceMs = performance.now();
    await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    this.signal.throwIfAborted();
  }

  /** Ends the answer, so that the client takes it for complete. */
  end(): void {
    this.#state.inbound.end();
    this.close();
  }

  /** Removes the answer from the set of open streams. A second call does nothing. */
  close(): void {
    if (this.#openStreams.has(this.#open)) this.#openStreams.delete(this.#open);
  }

  #openStream({ kind, onEnd }: Ending): OpenStream {
    const { inbound, observation } = this.#state;
    const blockedSinceMs = (): number => this.#blockedSinceMs;
    return {
      kind,
      clusterName: '',
      clusterUid: '',
      endAtBoundary() {
        if (onEnd === undefined || !inbound.answered) return false;
        onEnd(undefined);
        return true;
      },
      abort: (reason) => this.#abort(reason),
      end: (reason, statusJson) => {
        if (onEnd === undefined || !inbound.answered || this.#blockedSinceMs > 0) return this.#abort(reason);
        observation.error ??= reason;
        onEnd(statusJson);
      },
      get blockedSinceMs() {
        return blockedSinceMs();
      },
    };
  }

  #abort(reason: GatewayError): void {
    const { inbound, observation } = this.#state;
    observation.error ??= reason;
    this.#over.abort(reason);
    this.#wake();
    if (inbound.answered) inbound.abort();
  }

  #wake(): void {
    const woken = this.#waiting;
    this.#waiting = [];
    for (const resolve of woken) resolve();
  }
}
