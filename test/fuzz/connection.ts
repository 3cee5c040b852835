// Reads the bytes of a client connection with the gateway's own parsers, one request after the other, as
// http1-connection.ts does. Bodies are moved together in place, so the bytes are copied first; and pieces must give
// what the whole gives.
import { GatewayError } from '../../model/errors.ts';
import { HttpFault } from '../../http/http-fault.ts';
import { RequestBody } from '../../http/http1/http1-body.ts';
import { HeadReader, judge } from '../../http/http1/http1-parser.ts';
import { parseTarget } from '../../request/path.ts';
import type { ParsedTarget } from '../../request/path.ts';
import { requestInfo } from '../../request/request-info.ts';
import type { RequestInfo } from '../../request/request-info.ts';

/** A request as the gateway reads it; texts are latin1 unless said otherwise. */
export interface ReadRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly headers: readonly string[];
  readonly body: string;
  /** Undefined when the path parser refuses the target, `pathFault` says why. */
  readonly parsed: ParsedTarget | undefined;
  readonly info: RequestInfo | undefined;
  readonly pathFault: string;
}

/**
 * How the reading ended: nothing left, in the middle of a request, refused, because the client closes behind its
 * request, because the gateway does though the client did not ask for it, or because what follows is no HTTP any more.
 */
export type Ending = 'complete' | 'incomplete' | 'refused' | 'close' | 'closed-here' | 'upgrade';

export interface Connection {
  readonly requests: readonly ReadRequest[];
  readonly ending: Ending;
}

/**
 * Reads a connection.
 * @param pieceBytes how many bytes come at once
 * @throws whatever is neither a GatewayError nor an HttpFault
 */
export function readConnection(bytes: Buffer, pieceBytes = bytes.length): Connection {
  const head = new HeadReader();
  const body = new RequestBody();
  const requests: ReadRequest[] = [];
  const mine = Buffer.from(bytes);
  let at = 0;
  const piece = (): Buffer => mine.subarray(at, Math.min(at + Math.max(1, pieceBytes), mine.length));
  try {
    for (;;) {
      let complete = false;
      while (at < mine.length && !complete) {
        const chunk = piece();
        const used = head.read(chunk);
        complete = used >= 0;
        at += complete ? used : chunk.length;
      }
      if (!complete) return { requests, ending: head.started ? 'incomplete' : 'complete' };
      const read = head.head!;
      const judged = judge(read);
      body.begin(judged.body);
      let data = '';
      while (!body.ended && at < mine.length) {
        at += body.read(piece());
        if (body.data !== undefined) data += body.data.toString('latin1');
      }
      if (!body.ended) return { requests, ending: 'incomplete' };
      requests.push({ ...read, host: judged.host, body: data, ...described(read.method, read.target) });
      if (judged.upgrade) return { requests, ending: 'upgrade' };
      if (judged.close) return { requests, ending: asksToClose(read.headers) ? 'close' : 'closed-here' };
    }
  } catch (error) {
    if (!(error instanceof GatewayError || error instanceof HttpFault)) throw error;
    return { requests, ending: 'refused' };
  }
}

function asksToClose(headers: readonly string[]): boolean {
  return headers.some(
    (value, i) =>
      i % 2 === 1 &&
      headers[i - 1]!.toLowerCase() === 'connection' &&
      value.split(',').some((option) => option.trim().toLowerCase() === 'close'),
  );
}

/** The path and query parsers on one target, without an upgrade. */
export function described(method: string, target: string): Pick<ReadRequest, 'parsed' | 'info' | 'pathFault'> {
  let parsed: ParsedTarget | undefined;
  try {
    parsed = parseTarget(target);
    return { parsed, info: requestInfo(method, parsed.segments, parsed.query, false), pathFault: '' };
  } catch (error) {
    if (!(error instanceof GatewayError || error instanceof HttpFault)) throw error;
    return { parsed, info: undefined, pathFault: error.message };
  }
}
