// Reads the chunked transfer coding (RFC 9112 section 7.1) of a member's response. Easy to get wrong: the data of
// several chunks in one piece is moved together inside that piece, so that it goes on as one write; whoever calls must
// own the buffer.

/** Bytes of chunk extensions in one response; nobody needs any (CVE-2024-22019). */
const maxExtensionBytes = 16 * 1024;
/** Bytes of trailers in one response; they are dropped. */
const maxTrailerBytes = 64 * 1024;
/** Hexadecimal digits of a chunk size: 2^52 - 1 is the largest that stays an exact number. */
const maxChunkDigits = 13;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Where the reader stands. */
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

/** The member broke HTTP; the message names the rule and holds nothing the member sent. */
export class ResponseFault extends Error {
  override readonly name = 'ResponseFault';
}

/** The body of a chunked response (RFC 9112 section 7.1), read byte by byte but for the data itself. */
export interface ChunkedBody {
  begin(): void;
  /** Reads from `from` on and gives the offset behind what it used; the data lies in `found`, moved together. */
  read(chunk: Buffer, from: number): number;
  readonly found: { start: number; end: number };
  ended(): boolean;
}

/** Makes a reader; begin() makes it ready for the next body. */
export function makeChunkedBody(): ChunkedBody {
  let state = chunkSize;
  let size = 0;
  let digits = 0;
  let extensionBytes = 0;
  let trailerBytes = 0;
  let done = false;
  const found = { start: 0, end: 0 };

  function takeData(chunk: Buffer, at: number): number {
    const take = Math.min(size, chunk.length - at);
    if (found.end === 0) {
      found.start = at;
      found.end = at + take;
    } else {
      chunk.copyWithin(found.end, at, at + take);
      found.end += take;
    }
    size -= take;
    if (size === 0) state = chunkDataCr;
    return at + take;
  }

  function takeSize(byte: number): void {
    const digit = hexValue(byte);
    if (digit >= 0) {
      if (++digits > maxChunkDigits) throw new ResponseFault('a chunk size is too large');
      size = size * 16 + digit;
      return;
    }
    if (digits === 0) throw new ResponseFault('a chunk size is not a hexadecimal number');
    if (byte === carriageReturn) state = chunkSizeLf;
    else if (byte === 0x3b) state = chunkExtension;
    else throw new ResponseFault('a chunk size is not a hexadecimal number');
  }

  function takeExtension(byte: number): void {
    if (byte === carriageReturn) state = chunkSizeLf;
    else if ((byte < 0x20 && byte !== 0x09) || byte === 0x7f) throw new ResponseFault('a chunk extension is invalid');
    else if (++extensionBytes > maxExtensionBytes) throw new ResponseFault('it sent too many chunk extensions');
  }

  function takeTrailer(byte: number): void {
    if (++trailerBytes > maxTrailerBytes) throw new ResponseFault('its trailers are too long');
    if (state === trailerLine) {
      if (byte === carriageReturn) state = trailerLf;
      else if ((byte < 0x20 && byte !== 0x09) || byte === 0x7f) throw new ResponseFault('a trailer is invalid');
    } else if (byte === carriageReturn && state === trailerStart) state = lastLf;
    else if (byte === 0x3a && state === trailerName) state = trailerLine;
    // Trailers are dropped, but one that is no field is where another server might see the next request.
    else if (!isTokenByte(byte)) throw new ResponseFault('a trailer is invalid');
    else state = trailerName;
  }

  function takeLf(byte: number): void {
    if (byte !== lineFeed) throw new ResponseFault('a chunk does not end with CRLF');
    if (state === lastLf) done = true;
    else if (state === trailerLf) state = trailerStart;
    else if (state === chunkSizeLf) state = size === 0 ? trailerStart : chunkData;
    else {
      state = chunkSize;
      digits = 0;
    }
  }

  return {
    found,
    begin() {
      state = chunkSize;
      size = 0;
      digits = 0;
      extensionBytes = 0;
      trailerBytes = 0;
      done = false;
    },
    read(chunk, from) {
      found.start = 0;
      found.end = 0;
      let at = from;
      while (at < chunk.length && !done) {
        if (state === chunkData) {
          at = takeData(chunk, at);
          continue;
        }
        const byte = chunk[at++]!;
        if (state === chunkSize) takeSize(byte);
        else if (state === chunkExtension) takeExtension(byte);
        else if (state === trailerStart || state === trailerLine || state === trailerName) takeTrailer(byte);
        else if (state === chunkDataCr) {
          if (byte !== carriageReturn) throw new ResponseFault('a chunk is longer than its size says');
          state = chunkDataLf;
        } else takeLf(byte);
      }
      return at;
    },
    ended() {
      return done;
    },
  };
}

/** Value of a hexadecimal digit, or -1. */
function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** RFC 9110 section 5.6.2. */
function isTokenByte(byte: number): boolean {
  if (byte >= 0x30 && byte <= 0x39) return true;
  const lower = byte | 0x20;
  if (byte >= 0x40 && lower >= 0x61 && lower <= 0x7a) return true;
  return byte > 0x20 && byte < 0x7f && "!#$%&'*+-.^_`|~".includes(String.fromCharCode(byte));
}
