// Takes the body of an HTTP/1.1 request out of the bytes of its connection. Easy to get wrong: what follows the body in
// the same piece is the next request, so every read says how far it went.
import { HttpFault } from '../http-fault.ts';
import { ResponseFault, makeChunkedBody } from './chunked-body.ts';
import type { ChunkedBody } from './chunked-body.ts';
import type { BodyFraming } from '../inbound.ts';

/** The body of one request after the other. */
export interface RequestBody {
  /** Nothing of the body is left. */
  readonly ended: boolean;
  /** Unframed bytes of the last read; a part of the piece given, which they were moved together in. */
  readonly data: Buffer | undefined;
  begin(framing: BodyFraming): void;
  /**
   * Reads a piece, which must be ours to change, and gives how many of its bytes belong to the body.
   * @throws HttpFault BAD_REQUEST when the chunks are not valid; extensions and trailers are bounded and dropped
   */
  read(chunk: Buffer): number;
}

/** Makes the reader of one connection. */
export function makeRequestBody(): RequestBody {
  let remaining = 0;
  let chunked: ChunkedBody | undefined;
  let inChunks = false;
  let data: Buffer | undefined;

  function readChunks(chunk: Buffer): number {
    const body = chunked!;
    try {
      const used = body.read(chunk, 0);
      const { start, end } = body.found;
      if (end > start) data = chunk.subarray(start, end);
      if (body.ended()) inChunks = false;
      return used;
    } catch (error) {
      if (!(error instanceof ResponseFault)) throw error;
      throw new HttpFault('BAD_REQUEST', `the request body is not valid: ${error.message}`);
    }
  }

  return {
    get ended() {
      return remaining === 0 && !inChunks;
    },
    get data() {
      return data;
    },
    begin(framing) {
      remaining = typeof framing === 'number' ? framing : 0;
      inChunks = framing === 'chunked';
      if (inChunks) (chunked ??= makeChunkedBody()).begin();
    },
    read(chunk) {
      data = undefined;
      if (inChunks) return readChunks(chunk);
      const take = Math.min(remaining, chunk.length);
      remaining -= take;
      if (take > 0) data = take === chunk.length ? chunk : chunk.subarray(0, take);
      return take;
    },
  };
}
