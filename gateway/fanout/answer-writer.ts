// The client's end of a fan-out: head, pieces with back-pressure, and one place that knows when to give up. Easy to get
// wrong: a fault after the head can only be told by cutting the answer, so nothing may end it properly but its last
// byte.
import { GatewayError } from '../../cache/model/errors.ts';
import type { OpenStream } from '../../routing/forward/open-streams.ts';
import type { Authorized } from '../exchange.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';

/** See the file comment. */
export interface AnswerWriter {
  /** Aborted when the client is gone or the answer was ended from outside. */
  readonly signal: AbortSignal;
  /** Headers beside the usual ones of JSON. */
  head(status: number, headers?: readonly string[], contentType?: string): void;
  /** Waits while the client is slow. @throws the signal's reason when it is over */
  write(bytes: Buffer): Promise<void>;
  /** The answer is complete. */
  end(): void;
  /** Takes it from the set of open streams; harmless twice. */
  close(): void;
}

/** How an open answer is ended by the gateway itself. */
export interface Ending {
  readonly kind: 'short' | 'watch';
  /** Of a watch: the last event, or undefined to end cleanly between two. Called at most once. */
  readonly onEnd?: (statusJson: string | undefined) => void;
}

/** @param ending of lists nothing can be ended but by cutting them */
export function makeAnswerWriter(state: Authorized, dependencies: ChainDependencies, ending: Ending): AnswerWriter {
  const { inbound, progress, auditId } = state;
  const over = new AbortController();
  let blockedSinceMs = 0;
  let waiting: (() => void)[] = [];
  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  };
  const abort = (reason: GatewayError): void => {
    state.observation.error ??= reason;
    over.abort(reason);
    wake();
    if (inbound.answered) inbound.abort();
  };
  const open: OpenStream = {
    kind: ending.kind,
    clusterName: '',
    clusterUid: '',
    endAtBoundary() {
      if (ending.onEnd === undefined || !inbound.answered) return false;
      ending.onEnd(undefined);
      return true;
    },
    abort,
    end(reason, statusJson) {
      if (ending.onEnd === undefined || !inbound.answered || blockedSinceMs > 0) return abort(reason);
      state.observation.error ??= reason;
      ending.onEnd(statusJson);
    },
    get blockedSinceMs() {
      return blockedSinceMs;
    },
  };
  dependencies.openStreams.add(open);
  progress.open = open;
  const close = (): void => {
    if (dependencies.openStreams.has(open)) dependencies.openStreams.delete(open);
  };
  inbound.onClose((aborted) => {
    close();
    if (!aborted) return;
    over.abort(new GatewayError('BAD_REQUEST', 'the client went away'));
    wake();
  });
  inbound.onDrain(() => {
    blockedSinceMs = 0;
    wake();
  });
  return {
    signal: over.signal,
    head(status, headers = [], contentType = 'application/json') {
      progress.status = status;
      progress.onAnswering?.();
      const usual = ['Content-Type', contentType, 'Cache-Control', 'no-cache, private'];
      const safe = ['X-Content-Type-Options', 'nosniff', 'Audit-Id', auditId];
      inbound.respond(status, [...usual, ...safe, ...headers], inbound.method === 'HEAD');
    },
    async write(bytes) {
      over.signal.throwIfAborted();
      if (inbound.method === 'HEAD') return;
      progress.bytesOut += bytes.length;
      if (inbound.write(bytes)) return;
      blockedSinceMs = performance.now();
      await new Promise<void>((resolve) => void waiting.push(resolve));
      over.signal.throwIfAborted();
    },
    end() {
      inbound.end();
      close();
    },
    close,
  };
}
