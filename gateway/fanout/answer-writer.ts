// The client's side of a fan-out: it sends the head, writes with back-pressure and ends when the client goes away or
// the gateway ends the answer. A fault after the head can only be shown by cutting the answer, so only the last byte of
// a whole answer ends it properly.
import { GatewayError } from '../../cache/model/errors.ts';
import type { OpenStream, OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Authorized } from '../exchange.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';

/** See the file comment. */
export interface AnswerWriter {
  /** Aborted when the client is gone or the gateway ended the answer. */
  readonly signal: AbortSignal;
  /** @param headers beside the usual ones of JSON */
  head(status: number, headers?: readonly string[], contentType?: string): void;
  /** Waits while the client is slow. @throws the signal's reason when the answer is over */
  write(bytes: Buffer): Promise<void>;
  /** The answer is complete. */
  end(): void;
  /** Removes it from the set of open streams; a second call does nothing. */
  close(): void;
}

/** How the gateway itself ends an open answer. */
export interface Ending {
  readonly kind: 'short' | 'watch';
  /** Of a watch: sends this last event, or ends cleanly between two when undefined. Called at most once. */
  readonly onEnd?: (statusJson: string | undefined) => void;
}

/** Makes the writer and adds its answer to the open streams. A list has no `onEnd`: it can only be cut. */
export function makeAnswerWriter(state: Authorized, { openStreams }: ChainDependencies, ending: Ending): AnswerWriter {
  return new StreamedAnswer(state, openStreams, ending);
}

class StreamedAnswer implements AnswerWriter {
  readonly #state: Authorized;
  readonly #openStreams: OpenStreams;
  readonly #open: OpenStream;
  readonly #over = new AbortController();
  #blockedSinceMs = 0;
  #waiting: (() => void)[] = [];

  constructor(state: Authorized, openStreams: OpenStreams, ending: Ending) {
    this.#state = state;
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

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  head(status: number, headers: readonly string[] = [], contentType = 'application/json'): void {
    const { inbound, progress, auditId } = this.#state;
    progress.status = status;
    progress.onAnswering?.();
    const usual = ['Content-Type', contentType, 'Cache-Control', 'no-cache, private'];
    const safe = ['X-Content-Type-Options', 'nosniff', 'Audit-Id', auditId];
    inbound.respond(status, [...usual, ...safe, ...headers], inbound.method === 'HEAD');
  }

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

  end(): void {
    this.#state.inbound.end();
    this.close();
  }

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
