// Puts header blocks together from frames and turns them into requests. What a block means depends on the HPACK table
// at that moment. So the remembered blocks are forgotten as soon as the table changes.
import { ConnectionFault, errorCode, frameFlag, maxFrameBytes, maxWindowBytes, protocolFault } from './http2-frames.ts';
import { HeadBuffer } from '../head-buffer.ts';
import { markRepeated } from '../repeated-headers.ts';
import { areTrailers, readHttp2Request } from './http2-head.ts';
import type { Http2Head } from './http2-head.ts';
import { HpackDecoder, HpackFault } from '../hpack/hpack-decoder.ts';
import { headLimits, type HeadLimits } from '../head-limits.ts';
import { RepeatedLists } from './repeated-lists.ts';

/** A client sends a large head in full frames; many small ones are an attack (CVE-2024-27316 and its kin). */
const maxContinuations = 256;
/**
 * Short blocks that came before, with their requests: a client that asks for the same again sends mostly indices. Saves
 * 0.8 us of 1.0.
 */
const maxRememberedBytes = 192;
const maxRemembered = 32;

/** The header blocks of one connection. */
export class HeaderBlocks {
  /** Stream of the present block. */
  stream = 0;
  /** END_STREAM came with its HEADERS. */
  ends = false;
  /** Its priority says that the stream depends on itself, which RFC 7540 section 5.3.1 forbids. */
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
  /** Of the table when the block before this one began. */
  #lastGeneration = -1;
  readonly #lists = new RepeatedLists();

  /** @param limits of the client as it is known at the moment */
  constructor(limits: () => HeadLimits) {
    this.#limits = limits;
    // HEADERS come before the first look at the size.
    this.#held = new HeadBuffer(headLimits.bytes + maxFrameBytes);
    this.#decoder = new HpackDecoder(headLimits);
  }

  /** Bytes of memory that an unfinished block takes. */
  get heldBytes(): number {
    return this.#held.heldBytes;
  }

  /** Drops the bytes of the present block. */
  forget(): void {
    this.#bytes = noBytes;
    this.#held.clear();
  }

  /** No block is unfinished. */
  get atRest(): boolean {
    return !this.#open;
  }

  /**
   * HEADERS came (RFC 9113 section 6.2). A block that is not complete is copied; any other must be taken before `bytes`
   * changes.
   * @throws ConnectionFault
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
   * CONTINUATION came.
   * @throws ConnectionFault ENHANCE_YOUR_CALM: a block that is not read to its end leaves us without a table
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
   * The request of the block.
   * @param remember whether to keep it in case it comes again; false for a client that has not logged in
   * @throws ConnectionFault COMPRESSION_ERROR
   */
  takeRequest(remember: boolean): Http2Head | 'malformed' | 'too-large' {
    if (this.#isCut) return 'too-large';
    const { ends } = this;
    const before = this.#decoder.generation;
    // Where every request changes the table, as an aggregator's do, nothing is remembered and no key is worth making.
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
   * Whether the next block can be read.
   * @throws ConnectionFault ENHANCE_YOUR_CALM when a block was longer than its client may send: it was not read, so the
   *   two sides differ about the table
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

  /** Whether the block may be trailers. @throws ConnectionFault COMPRESSION_ERROR */
  takeTrailers(): boolean {
    const list = this.#decode();
    return list !== undefined && areTrailers(list);
  }

  /** Reads a block that is not wanted, to keep the table right. @throws ConnectionFault COMPRESSION_ERROR */
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
