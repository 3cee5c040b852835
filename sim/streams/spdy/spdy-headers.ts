// Compresses and decompresses header blocks of SPDY/3.1. All blocks of one direction form a single zlib stream, which
// starts with a fixed dictionary. Easy to get wrong: because all blocks are one zlib stream, every block must be
// decompressed, even the block of a frame that is refused.
import zlib from 'node:zlib';

/** Headers by lower-case name. A repeated header has several values. */
export type SpdyHeaders = ReadonlyMap<string, readonly string[]>;

const words =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow ' +
  'authorization cache-control connection content-base content-encoding content-language content-length ' +
  'content-location content-md5 content-range content-type date etag expect expires from host if-match ' +
  'if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma ' +
  'proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade ' +
  'user-agent vary via warning www-authenticate method get status';
const tail =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative ' +
  'Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 ' +
  'Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec ' +
  '00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,' +
  'application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,' +
  'sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';

/**
 * The dictionary of SPDY/3 (section 2.6.10.1): words with length prefixes, then plain text. It has 1,423 bytes and the
 * Adler-32 checksum 0xe3c6a7c2.
 */
export function spdyDictionary(): Buffer {
  const prefixed = [
    ...words.split(' '),
    '200 OK',
    'version',
    'HTTP/1.1',
    'url',
    'public',
    'set-cookie',
    'keep-alive',
    'origin',
  ];
  const parts = prefixed.map((word) => Buffer.concat([uint32(word.length), Buffer.from(word, 'latin1')]));
  return Buffer.concat([...parts, Buffer.from(tail, 'latin1')]);
}

/** The Adler-32 checksum of the dictionary, by which a zlib header names it. */
const dictionaryId = 0xe3c6a7c2;
const windowBytes = 32 * 1024;
/**
 * Maximum number of bytes of a decompressed block, and most headers in it. A block beyond a limit ends the connection,
 * as a protection against decompression bombs. moby/spdystream accepts 1,000 headers of 1 MiB, which no client of the
 * simulator needs.
 */
const maxBlockBytes = 256 * 1024;
const maxHeaders = 1_000;

/**
 * Returns a function that compresses header blocks. Call it for each frame with headers, in the order in which frames
 * are sent.
 */
export function createHeaderCompressor(): (headers: SpdyHeaders) => Buffer {
  // After a sync flush, deflate has no state except its window. So each block can be compressed by a call of its own,
  // with the window, the last 32 KiB of plain bytes, as the dictionary.
  let window = spdyDictionary();
  let isFirst = true;
  return (headers) => {
    const plain = writePairs(headers);
    const block = zlib.deflateRawSync(plain, {
      dictionary: window,
      finishFlush: zlib.constants.Z_SYNC_FLUSH,
      level: 9,
    });
    window = slide(window, plain);
    if (!isFirst) return block;
    isFirst = false;
    // The zlib header (RFC 1950): deflate, window of 32 KiB, best compression, with dictionary. As RFC 1950 demands,
    // the first two bytes are a multiple of 31.
    return Buffer.concat([Buffer.from([0x78, 0xf9]), uint32(dictionaryId), block]);
  };
}

/**
 * Returns a function that decompresses header blocks. Call it for each frame with headers, in the order of arrival. It
 * throws an Error for invalid bytes. Blocks must end with a sync flush, as in all known implementations.
 */
export function createHeaderDecompressor(): (block: Buffer) => SpdyHeaders {
  let window = spdyDictionary();
  let isFirst = true;
  return (block) => {
    let raw = block;
    if (isFirst) {
      if (block.length < 2 || block.readUInt16BE(0) % 31 !== 0) throw new Error('a header block without a zlib head');
      const hasDictionary = (block.readUInt8(1) & 0x20) !== 0;
      if (hasDictionary && (block.length < 6 || block.readUInt32BE(2) !== dictionaryId)) {
        throw new Error('a header block with an unknown dictionary');
      }
      if (!hasDictionary) window = Buffer.alloc(0);
      raw = block.subarray(hasDictionary ? 6 : 2);
      isFirst = false;
    }
    const plain = zlib.inflateRawSync(raw, {
      ...(window.length === 0 ? {} : { dictionary: window }),
      finishFlush: zlib.constants.Z_SYNC_FLUSH,
      maxOutputLength: maxBlockBytes,
    });
    window = slide(window, plain);
    return readPairs(plain);
  };
}

function slide(window: Buffer, plain: Buffer): Buffer<ArrayBuffer> {
  return Buffer.concat([window, plain]).subarray(-windowBytes);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/**
 * The bytes of a header block (section 2.6.10): the number of headers, then names and values with length prefixes.
 * Several values of one header are joined by NUL.
 */
function writePairs(headers: SpdyHeaders): Buffer {
  const parts = [uint32(headers.size)];
  for (const [name, values] of headers) {
    for (const text of [name.toLowerCase(), values.join('\0')]) {
      const bytes = Buffer.from(text, 'latin1');
      parts.push(uint32(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

function readPairs(plain: Buffer): SpdyHeaders {
  let offset = 0;
  const number = (): number => {
    if (offset + 4 > plain.length) throw new Error('a header block that ends early');
    offset += 4;
    return plain.readUInt32BE(offset - 4);
  };
  const text = (): string => {
    const length = number();
    if (offset + length > plain.length) throw new Error('a header block that ends early');
    offset += length;
    return plain.toString('latin1', offset - length, offset);
  };
  const count = number();
  if (count > maxHeaders) throw new Error(`a header block of ${count} headers`);
  const headers = new Map<string, readonly string[]>();
  for (let i = 0; i < count; i++) {
    const name = text();
    if (name !== name.toLowerCase()) throw new Error('a header name that is not lower case');
    if (headers.has(name)) throw new Error('a header name that comes twice');
    headers.set(name, text().split('\0'));
  }
  return headers;
}
