// Decodes the chunked transfer coding (RFC 9112 section 7.1) of request bodies and of members' answers. When one buffer
// holds the data of several chunks, the data is moved together inside that buffer, so that it can be written at once.
// So nobody else may use the buffer afterwards.

/**
 * Maximum number of bytes of chunk extensions in one body; with more, the body is not valid. No known client or server
 * sends any, and unlimited ones allow an attack (CVE-2024-22019). Go refuses a chunk whose size line exceeds 4,096
 * bytes.
 */
const maxExtensionBytes = 4000;
/**
 * Maximum number of bytes of trailers in one body, including the empty line after them; with more, the body is not
 * valid. Go has the same limit. Trailers are read and dropped.
 */
const maxTrailerBytes = 4096;
/**
 * Maximum number of hexadecimal digits of a chunk size. 13 digits make at most 2^52 - 1, which a number holds exactly.
 */
const maxChunkDigits = 13;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** States of the decoder: what the next byte belongs to. */
const chunkSize = 0;
const chunkExtension = 1;
const chunkSizeLf = 2;
const chunkData = 3;
const chunkDataCr = 4;
const chunkDataLf = 5;
const trailerStart = 6;
const trailerLine = 7;
const trailerLf = 8;
const lastLf = 9;
const trailerName = 10;

/** A body or an answer is not valid HTTP. The message names the violated rule and repeats no received data. */
export class ResponseFault extends Error {
  override readonly name = 'ResponseFault';
}

/** Decodes chunked bodies, one after the other. */
export class ChunkedBody {
  /** The range of the buffer passed to the last read() that holds the decoded data; empty when `end` equals `start`. */
  readonly found = { start: 0, end: 0 };
  #state = chunkSize;
  #size = 0;
  #digits = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;
  #ended = false;

  /** Whether the last chunk and its trailers have been read. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Resets the decoder for the next body. */
  begin(): void {
    this.#state = chunkSize;
    this.#size = 0;
    this.#digits = 0;
    this.#extensionBytes = 0;
    this.#trailerBytes = 0;
    this.#ended = false;
  }

  /**
   * Decodes `chunk` from offset `from` and sets {@link found}.
   * @returns the offset after the last byte used: the end of the body, or `chunk.length`
   * @throws ResponseFault when the coding is not valid
   */
  read(chunk: Buffer, from: number): number {
    const { found } = this;
    found.start = 0;
    found.end = 0;
    let at = from;
    while (at < chunk.length && !this.#ended) {
      if (this.#state === chunkData) at = this.#takeData(chunk, at);
      else this.#takeByte(chunk[at++]!);
    }
    return at;
  }

  #takeData(chunk: Buffer, at: number): number {
    const { found } = this;
    const take = Math.min(this.#size, chunk.length - at);
    if (found.end === 0) {
      found.start = at;
      found.end = at + take;
    } else {
      chunk.copyWithin(found.end, at, at + take);
      found.end += take;
    }
    this.#size -= take;
    if (this.#size === 0) this.#state = chunkDataCr;
    return at + take;
  }

  #takeByte(byte: number): void {
    switch (this.#state) {
      case chunkSize:
        this.#takeSize(byte);
        break;
      case chunkExtension:
        this.#takeExtension(byte);
        break;
      case trailerStart:
      case trailerLine:
      case trailerName:
        this.#takeTrailer(byte);
        break;
      case chunkDataCr:
        if (byte !== carriageReturn) throw new ResponseFault('a chunk is longer than its size says');
        this.#state = chunkDataLf;
        break;
      default:
        this.#takeLf(byte);
    }
  }

  #takeSize(byte: number): void {
    const digit = hexValue(byte);
    if (digit >= 0) {
      if (++this.#digits > maxChunkDigits) throw new ResponseFault('a chunk size is too large');
      this.#size = this.#size * 16 + digit;
      return;
    }
    if (this.#digits === 0) throw new ResponseFault('a chunk size is not a hexadecimal number');
    if (byte === carriageReturn) this.#state = chunkSizeLf;
    else if (byte === 0x3b) this.#state = chunkExtension;
    else throw new ResponseFault('a chunk size is not a hexadecimal number');
  }

  #takeExtension(byte: number): void {
    if (byte === carriageReturn) this.#state = chunkSizeLf;
    else if (isControl(byte)) throw new ResponseFault('a chunk extension is invalid');
    else if (++this.#extensionBytes > maxExtensionBytes) throw new ResponseFault('it has too many chunk extensions');
  }

  #takeTrailer(byte: number): void {
    this.#countTrailerByte();
    if (this.#state === trailerLine) {
      if (byte === carriageReturn) this.#state = trailerLf;
      else if (isControl(byte)) throw new ResponseFault('a trailer is invalid');
    } else if (byte === carriageReturn && this.#state === trailerStart) this.#state = lastLf;
    else if (byte === 0x3a && this.#state === trailerName) this.#state = trailerLine;
    // Trailers are dropped, but each must look like a field. Otherwise another server might take it for the next
    // request.
    else if (!isTokenByte(byte)) throw new ResponseFault('a trailer is invalid');
    else this.#state = trailerName;
  }

  #countTrailerByte(): void {
    if (++this.#trailerBytes > maxTrailerBytes) throw new ResponseFault('its trailers are too long');
  }

  #takeLf(byte: number): void {
    if (byte !== lineFeed) throw new ResponseFault('a chunk does not end with CRLF');
    if (this.#state === lastLf || this.#state === trailerLf) {
      this.#countTrailerByte();
      this.#ended = this.#state === lastLf;
      this.#state = trailerStart;
    } else if (this.#state === chunkSizeLf) this.#state = this.#size === 0 ? trailerStart : chunkData;
    else {
      this.#state = chunkSize;
      this.#digits = 0;
    }
  }
}

/** Whether a byte is a control character other than tab. */
function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== 0x09) || byte === 0x7f;
}

/** Value of a hexadecimal digit, or -1. */
function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Whether a byte may be part of a token (RFC 9110 section 5.6.2). */
function isTokenByte(byte: number): boolean {
  if (byte >= 0x30 && byte <= 0x39) return true;
  const lower = byte | 0x20;
  if (byte >= 0x40 && lower >= 0x61 && lower <= 0x7a) return true;
  return byte > 0x20 && byte < 0x7f && "!#$%&'*+-.^_`|~".includes(String.fromCharCode(byte));
}
