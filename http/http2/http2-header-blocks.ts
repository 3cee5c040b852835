// Joins HEADERS and CONTINUATION frames into header blocks and decodes requests from them. The meaning of a block
// depends on the HPACK table at that moment, so the cache of decoded blocks is emptied whenever the table changes.
import { ConnectionFault, errorCode, protocolFault } from '../http2-faults.ts';
import { frameFlag, maxFrameBytes, maxWindowBytes } from './http2-frames.ts';
import { HeadBuffer } from '../head-buffer.ts';
import { markRepeated } from '../repeated-headers.ts';
import { areTrailers, readHttp2Request } from './http2-head.ts';
import type { Http2Head } from './http2-head.ts';
import { HpackDecoder, HpackFault } from '../hpack/hpack-decoder.ts';
import { headLimits, type HeadLimits } from '../head-limits.ts';
import { RepeatedLists } from './repeated-lists.ts';

/**
 * Most CONTINUATION frames in one header block; with more, the connection is closed. An honest client fills its frames;
 * a flood of small ones is an attack (CVE-2024-27316).
 */
const maxContinuations = 256;
/**
 * Bounds of the cache of decoded requests, whose keys are the bytes of their header blocks: longer blocks are not
 * cached, and the cache is emptied when it has `maxRemembered` entries. A client that repeats a request usually sends
 * the same short block of HPACK indices. The cache saves 0.8 of 1.0 microseconds.
 */
const maxRememberedBytes = 192;
const maxRemembered = 32;

/** Joins the frames of the header blocks of one connection, and decodes the blocks. */
export class HeaderBlocks {
  /** Stream id of the current block. */
  stream = 0;
  /** Whether END_STREAM was set on the current block: the request has no body. */
  ends = false;
  /** Whether the priority field says that the stream depends on itself, which RFC 7540 section 5.3.1 forbids. */
  dependsOnItself = false;
  readonly #limits: () => HeadLimits;
  readonly #decoder: HpackDecoder;
  #bytes: Buffer = noBytes;
  #from = 0;
  #to = 0;
  #open = false;
  readonly #held: HeadBuffer;
  #continuations = 0;
  #blockBytes = 0;
  #isCut = false;
  #known: Map<string, Http2Head> | undefined;
  #knownGeneration = -1;
  /** The version of the HPACK table (HpackDecoder.generation) at the time the previous block was decoded. */
  #lastGeneration = -1;
  readonly #lists = new RepeatedLists();

  /**
   * Makes the object that reads the header blocks of one client's connection.
   * @param limits returns the limits for this client; they change when it logs in
   */
  constructor(limits: () => HeadLimits) {
    this.#limits = limits;
    // A frame is added to the buffer before the size of the block is checked, so there must be space for one more
    // frame.
    this.#held = new HeadBuffer(headLimits.bytes + maxFrameBytes);
    this.#decoder = new HpackDecoder(headLimits);
  }

  /** Size in bytes of the buffer for an unfinished block. */
  get heldBytes(): number {
    return this.#held.heldBytes;
  }

  /** Drops the bytes of the current block. */
  forget(): void {
    this.#bytes = noBytes;
    this.#held.clear();
  }

  /** Whether no header block is partly received. */
  get atRest(): boolean {
    return !this.#open;
  }

  /**
   * Handles a HEADERS frame (RFC 9113 section 6.2). A complete block is not copied, so takeRequest(), takeTrailers() or
   * drop() must be called before `bytes` changes; an incomplete one is copied.
   * @throws ConnectionFault when the frame is malformed
   */
  begin(stream: number, flags: number, bytes: Buffer, start: number, end: number): void {
    let from = start;
    let to = end;
    if ((flags & frameFlag.padded) !== 0) {
      to -= start < end ? bytes[start]! : 0;
      from += 1;
    }
    this.dependsOnItself = false;
    if ((flags & frameFlag.priority) !== 0) {
      this.dependsOnItself = from + 5 <= to && (bytes.readUInt32BE(from) & maxWindowBytes) === stream;
      from += 5;
    }
    if (from > to) throw protocolFault('HEADERS with more padding than bytes');
    this.stream = stream;
    this.ends = (flags & frameFlag.endStream) !== 0;
    this.#open = (flags & frameFlag.endHeaders) === 0;
    this.#continuations = 0;
    this.#blockBytes = to - from;
    this.#to = 0;
    if (this.#open) this.#append(bytes, from, to);
    else {
      this.#bytes = bytes;
      this.#from = from;
      this.#to = to;
    }
  }

  /**
   * Handles a CONTINUATION frame.
   * @throws ConnectionFault ENHANCE_YOUR_CALM when the block is so large that it is not decoded; the HPACK table is
   *   then unknown
   */
  proceed(bytes: Buffer, from: number, to: number, complete: boolean): void {
    this.#continuations++;
    this.#blockBytes += to - from;
    if (this.#continuations > maxContinuations || this.#blockBytes > headLimits.bytes) throw blockTooLarge();
    if (this.#blockBytes > this.#limits().bytes) {
      this.#isCut = true;
      this.forget();
    } else this.#append(bytes, from, to);
    if (complete) this.#open = false;
  }

  #append(bytes: Buffer, from: number, to: number): void {
    this.#held.append(bytes, from, to);
    this.#bytes = this.#held.bytes;
    this.#from = 0;
    this.#to = this.#held.length;
  }

  /**
   * Decodes the current block as a request.
   * @param remember whether to cache the decoded request; false for a client that has not logged in
   * @throws ConnectionFault COMPRESSION_ERROR
   */
  takeRequest(remember: boolean): Http2Head | 'malformed' | 'too-large' {
    if (this.#isCut) return 'too-large';
    const { ends } = this;
    const before = this.#decoder.generation;
    // When every request changes the HPACK table, as with kube-aggregator, nothing can be cached, so computing a key
    // would waste time.
    const key = remember && before === this.#lastGeneration ? this.#key() : undefined;
    this.#lastGeneration = before;
    if (key !== undefined && this.#knownGeneration === before) {
      const known = this.#known?.get(key);
      if (known !== undefined) {
        this.forget();
        markRepeated(known.headers);
        return known;
      }
    }
    const list = this.#decode();
    if (list === undefined) return 'too-large';
    const head = readHttp2Request(list, ends, remember ? this.#lists : undefined);
    if (head === undefined) return 'malformed';
    if (key !== undefined && head.fault === undefined && before === this.#decoder.generation) {
      this.#remember(key, head);
    }
    return head;
  }

  /**
   * Checks that the next block can be decoded.
   * @throws ConnectionFault ENHANCE_YOUR_CALM when a block exceeded the client's limit: it was not decoded, so the
   *   HPACK table is unknown
   */
  requireTable(): void {
    if (this.#isCut) throw blockTooLarge();
  }

  #key(): string | undefined {
    const length = this.#to - this.#from;
    if (length > maxRememberedBytes) return undefined;
    return (this.ends ? '+' : '-') + this.#bytes.toString('latin1', this.#from, this.#to);
  }

  #remember(key: string, head: Http2Head): void {
    const { generation } = this.#decoder;
    if (this.#known === undefined || this.#knownGeneration !== generation || this.#known.size >= maxRemembered) {
      this.#known = new Map();
      this.#knownGeneration = generation;
    }
    this.#known.set(key, head);
  }

  /**
   * Decodes the current block as trailers and returns whether they are valid.
   * @throws ConnectionFault COMPRESSION_ERROR
   */
  takeTrailers(): boolean {
    const list = this.#decode();
    return list !== undefined && areTrailers(list);
  }

  /**
   * Decodes an unwanted block, only to keep the HPACK table up to date.
   * @throws ConnectionFault COMPRESSION_ERROR
   */
  drop(): void {
    this.#decode();
  }

  #decode(): string[] | undefined {
    this.requireTable();
    try {
      return this.#decoder.decode(this.#bytes, this.#from, this.#to, this.#limits());
    } catch (error) {
      if (error instanceof HpackFault) throw new ConnectionFault(errorCode.compressionError, error.message);
      throw error;
    } finally {
      this.forget();
    }
  }
}

function blockTooLarge(): ConnectionFault {
  return new ConnectionFault(errorCode.enhanceYourCalm, 'a header block is too large');
}

const noBytes: Buffer = Buffer.alloc(0);
