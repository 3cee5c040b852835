// Extracts the body of an HTTP/1.1 request from the bytes of its connection. Bytes after the body in the same buffer
// belong to the next request, so every read returns how many bytes it used.
import { HttpFault } from '../http-fault.ts';
import { ChunkedBody, ResponseFault } from './chunked-body.ts';
import type { BodyFraming } from '../inbound.ts';

/** Reads the request bodies of one connection, one after the other. */
export class RequestBody {
  #remaining = 0;
  #chunked: ChunkedBody | undefined;
  #inChunks = false;
  #data: Buffer | undefined;

  /** Whether the whole body has been read. */
  get ended(): boolean {
    return this.#remaining === 0 && !this.#inChunks;
  }

  /**
   * Body data of the last read without chunk framing; undefined when there was none. It is a part of the buffer that
   * was passed to read().
   */
  get data(): Buffer | undefined {
    return this.#data;
  }

  begin(framing: BodyFraming): void {
    this.#remaining = typeof framing === 'number' ? framing : 0;
    this.#inChunks = framing === 'chunked';
    if (this.#inChunks) (this.#chunked ??= new ChunkedBody()).begin();
  }

  /**
   * Reads body bytes from the start of `chunk`. Nobody else may use the buffer, because chunked data is moved inside
   * it.
   * @returns how many bytes of `chunk` belong to the body
   * @throws HttpFault BAD_REQUEST when the chunked coding is not valid
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
