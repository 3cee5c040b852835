// Takes the body of an HTTP/1.1 request out of the bytes of its connection. What follows the body in the same piece is
// the next request, so every read says how far it went.
import { HttpFault } from '../http-fault.ts';
import { ChunkedBody, ResponseFault } from './chunked-body.ts';
import type { BodyFraming } from '../inbound.ts';

/** Reads the body of one request of a connection after the other. */
export class RequestBody {
  #remaining = 0;
  #chunked: ChunkedBody | undefined;
  #inChunks = false;
  #data: Buffer | undefined;

  /** Nothing of the body is left. */
  get ended(): boolean {
    return this.#remaining === 0 && !this.#inChunks;
  }

  /** Unframed bytes of the last read; a part of the piece given, which they were moved together in. */
  get data(): Buffer | undefined {
    return this.#data;
  }

  begin(framing: BodyFraming): void {
    this.#remaining = typeof framing === 'number' ? framing : 0;
    this.#inChunks = framing === 'chunked';
    if (this.#inChunks) (this.#chunked ??= new ChunkedBody()).begin();
  }

  /**
   * Reads a piece, which must be ours to change, and gives how many of its bytes belong to the body.
   * @throws HttpFault BAD_REQUEST when the chunks are not valid; extensions and trailers are bounded and dropped
   */
  read(chunk: Buffer): number {
    this.#data = undefined;
    if (this.#inChunks) return this.#readChunks(this.#chunked!, chunk);
    const take = Math.min(this.#remaining, chunk.length);
    this.#remaining -= take;
    if (take > 0) this.#data = take === chunk.length ? chunk : chunk.subarray(0, take);
    return take;
  }

  #readChunks(body: ChunkedBody, chunk: Buffer): number {
    try {
      const used = body.read(chunk, 0);
      const { start, end } = body.found;
      if (end > start) this.#data = chunk.subarray(start, end);
      if (body.ended) this.#inChunks = false;
      return used;
    } catch (error) {
      if (!(error instanceof ResponseFault)) throw error;
      throw new HttpFault('BAD_REQUEST', `the request body is not valid: ${error.message}`);
    }
  }
}
