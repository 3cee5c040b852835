// Writes an answer of any length towards the client as fast as it takes it. Easy to get wrong: whoever writes on while
// the client is slow fills the memory, and whoever waits for a client that has gone waits for ever.
import type { GatewayError } from '../../cache/model/errors.ts';
import { warningHeader } from '../../routing/forward/warning.ts';
import type { OpenStream, OpenStreams } from '../../routing/forward/open-streams.ts';
import type { IndexRequest } from './request.ts';

/** The client went away, or the answer was ended from outside; nothing is left to tell anybody. */
export class ClientGone extends Error {
  constructor() {
    super('the client is gone');
    this.name = 'ClientGone';
  }
}

/** One answer that is being written. */
export interface AnswerBody {
  /** Resolves when the client can take more. @throws ClientGone (rejects) */
  write(chunk: Buffer): Promise<void>;
  /** It was ended, by whomever. */
  readonly isOver: boolean;
  end(): void;
  /** Ends it so that the client sees it cut. */
  abort(): void;
}

/** A warning about a cluster, or about the request when `cluster` is undefined. */
export interface Warning {
  readonly cluster: string | undefined;
  readonly text: string;
}

/** More Warning headers than this are one that says how many are missing. */
const maxWarnings = 30;

/** Values of `Warning` headers, cluster by cluster. */
export function warningHeaders(warnings: readonly Warning[]): string[] {
  const told = warnings.length <= maxWarnings ? warnings : warnings.slice(0, maxWarnings - 1);
  const headers = told.flatMap(({ cluster, text }) => ['Warning', warningHeader(cluster, text)]);
  if (told.length < warnings.length) {
    const left = `${warnings.length - told.length} more warnings; ask …/indexes/default/freshness for all`;
    headers.push('Warning', warningHeader(undefined, left));
  }
  return headers;
}

/** Headers of every JSON answer. */
export function jsonHeaders(auditId: string, contentType = 'application/json'): string[] {
  return [
    'Content-Type',
    contentType,
    'Cache-Control',
    'no-cache, private',
    'X-Content-Type-Options',
    'nosniff',
    'Audit-Id',
    auditId,
  ];
}

/** Sends an answer that is at hand whole, in one piece or in several. */
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
  const headers = [...jsonHeaders(auditId, contentType), ...length, ...more];
  inbound.respond(status, [...headers, ...warningHeaders(warnings)], bodyless);
  if (!bodyless) {
    progress.bytesOut += bytes;
    for (const piece of pieces) inbound.write(piece);
  }
  inbound.end();
}

/** Sends a JSON document. */
export function sendJson(request: IndexRequest, value: unknown, warnings: readonly Warning[] = []): void {
  sendWhole(request, Buffer.from(`${JSON.stringify(value)}\n`), warnings);
}

/** What an answer is that takes a while. */
export interface LongAnswer {
  readonly kind: 'short' | 'watch';
  /** Called when it is over, for whatever reason. */
  readonly onOver?: () => void;
}

/**
 * Sends the head of a long answer. It counts as a request under way until it ends: a drain waits for a list and ends a
 * watch between two events.
 */
export function beginBody(
  request: IndexRequest,
  warnings: readonly Warning[],
  openStreams: OpenStreams,
  { kind, onOver }: LongAnswer = { kind: 'short' },
): AnswerBody {
  const { inbound, progress, outcome, auditId } = request;
  let wake: (() => void) | undefined;
  let isOver = false;
  const goOn = (): void => {
    open.blockedSinceMs = 0;
    const waiting = wake;
    wake = undefined;
    waiting?.();
  };
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    openStreams.delete(open);
    goOn();
    onOver?.();
  };
  const cut = (reason: GatewayError): void => {
    outcome.error ??= reason;
    inbound.abort();
    over();
  };
  const end = (): void => {
    inbound.end();
    over();
  };
  const open: OpenStream & { blockedSinceMs: number } = {
    kind,
    place: -1,
    clusterName: '',
    clusterUid: '',
    blockedSinceMs: 0,
    // Every write of a watch is of whole events, so that any moment is between two.
    endAtBoundary() {
      if (kind === 'watch') end();
      return kind === 'watch';
    },
    abort: cut,
    end(reason, statusJson) {
      if (kind === 'short') {
        cut(reason);
        return;
      }
      outcome.error ??= reason;
      inbound.write(errorEvent(statusJson));
      end();
    },
  };
  openStreams.add(open);
  inbound.onDrain(goOn);
  inbound.onClose(over);
  progress.open = open;
  progress.status = 200;
  progress.onAnswering?.();
  inbound.respond(200, [...jsonHeaders(auditId), ...warningHeaders(warnings)], inbound.method === 'HEAD');
  return {
    async write(chunk) {
      if (isOver || inbound.closed) throw new ClientGone();
      progress.bytesOut += chunk.length;
      if (inbound.write(chunk)) return;
      open.blockedSinceMs = performance.now();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (isOver) throw new ClientGone();
    },
    get isOver() {
      return isOver;
    },
    end,
    abort() {
      inbound.abort();
      over();
    },
  };
}

/** The last event of a watch that cannot go on. */
export function errorEvent(statusJson: string): Buffer {
  return Buffer.from(`{"type":"ERROR","object":${statusJson}}\n`);
}
