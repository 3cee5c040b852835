// Decodes the header blocks of one HTTP/2 connection (RFC 7541). A block over the size limit is still decoded to its
// end, because later blocks refer to entries that it adds to the dynamic table. Strings from the table are shared and
// never copied, so a small block cannot use much memory by naming a large entry many times.
import { decodeHuffman } from './hpack-huffman.ts';
import type { HeadLimits } from '../head-limits.ts';
import { calm } from '../http2-faults.ts';
import { DynamicTable, fieldOverheadBytes, maxTableBytes, staticCount, staticFields } from './hpack-table.ts';

/**
 * A header block is not valid HPACK. The connection must be closed, because both sides now have different dynamic
 * tables.
 */
export class HpackFault extends Error {
  override readonly name = 'HpackFault';
}

/**
 * How far a block that is over the limits is still decoded, so that its request can be refused and the connection can
 * go on. Each field after the limit adds to a sum: 1 when an index names it, {@link literalBeyond} when it is a
 * literal. When the sum exceeds this number, the connection is closed, as in Go's server (CVE-2023-45288).
 */
const maxBeyond = 20_000;
const literalBeyond = 16;
/** The largest integer that is accepted; RFC 7541 section 5.1 allows a limit. */
const maxInteger = 0x0fff_ffff;
const noBytes: Buffer = Buffer.alloc(0);

/** Decodes the blocks of one connection in the order they were received. */
export class HpackDecoder {
  #limits: HeadLimits;
  readonly #table = new DynamicTable();
  #bytes: Buffer = noBytes;
  #at = 0;
  #end = 0;
  #sizeUpdates = 0;

  /**
   * Makes a decoder with an empty dynamic table.
   * @param limits `bytes` counts name, value and 32 for each field, as SETTINGS_MAX_HEADER_LIST_SIZE does
   */
  constructor(limits: HeadLimits) {
    this.#limits = limits;
  }

  /**
   * A number that changes whenever a block changes the dynamic table. The same block bytes may mean other fields after
   * such a change.
   */
  get generation(): number {
    return this.#table.added + this.#sizeUpdates;
  }

  /**
   * Decodes one block into a flat list `[name, value, …]`. Strings hold one latin1 character for each byte.
   * @param limits for this block and all later ones
   * @returns undefined when the block exceeds the limits
   * @throws HpackFault when the block is not valid, ConnectionFault ENHANCE_YOUR_CALM when it goes far beyond the
   *   limits
   */
  decode(bytes: Buffer, start: number, end: number, limits: HeadLimits = this.#limits): string[] | undefined {
    this.#limits = limits;
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    try {
      return this.#decodeFields();
    } finally {
      this.#bytes = noBytes;
    }
  }

  #decodeFields(): string[] | undefined {
    const list: string[] = [];
    let listBytes = 0;
    let beyond = 0;
    let name: string;
    let value: string;
    while (this.#at < this.#end) {
      const first = this.#bytes[this.#at]!;
      if (first >= 0x80) {
        const index = this.#integer(0x7f);
        name = this.#nameAt(index);
        value = index <= staticCount ? staticFields[index * 2 - 1]! : this.#table.value(index - staticCount - 1);
      } else if (first >= 0x40) {
        const index = this.#integer(0x3f);
        name = index === 0 ? this.#string() : this.#nameAt(index);
        value = this.#string();
        this.#table.add(name, value);
        // An entry larger than the whole table empties it (RFC 7541 section 4.4).
        if (this.#table.count === 0) this.#sizeUpdates++;
      } else if (first >= 0x20) {
        this.#updateSize(list.length === 0 && listBytes === 0);
        continue;
      } else {
        const index = this.#integer(0x0f);
        name = index === 0 ? this.#string() : this.#nameAt(index);
        value = this.#string();
      }
      listBytes += name.length + value.length + fieldOverheadBytes;
      if (listBytes <= this.#limits.bytes && list.length < this.#limits.pairs * 2) list.push(name, value);
      else {
        listBytes = this.#limits.bytes + 1;
        beyond += first >= 0x80 ? 1 : literalBeyond;
        if (beyond > maxBeyond) throw calm('a header list goes on far beyond the limits');
      }
    }
    return listBytes <= this.#limits.bytes ? list : undefined;
  }

  #updateSize(atStart: boolean): void {
    const bytes = this.#integer(0x1f);
    if (!atStart) throw new HpackFault('a table size update behind a field');
    if (bytes > maxTableBytes) throw new HpackFault('a table larger than allowed');
    this.#sizeUpdates++;
    this.#table.setLimit(bytes);
  }

  #nameAt(index: number): string {
    if (index >= 1 && index <= staticCount) return staticFields[index * 2 - 2]!;
    const distance = index - staticCount - 1;
    if (distance < 0 || distance >= this.#table.count) throw new HpackFault('an index beyond the tables');
    return this.#table.name(distance);
  }

  /**
   * Reads an integer (RFC 7541 section 5.1). `mask` covers the low bits of the first byte that belong to the integer.
   */
  #integer(mask: number): number {
    const bytes = this.#bytes;
    let value = bytes[this.#at++]! & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      if (this.#at >= this.#end) throw new HpackFault('an integer that does not end');
      const byte = bytes[this.#at++]!;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value > maxInteger) break;
        return value;
      }
    }
    throw new HpackFault('an integer that is too large');
  }

  #string(): string {
    if (this.#at >= this.#end) throw new HpackFault('a string that is missing');
    const huffman = this.#bytes[this.#at]! >= 0x80;
    const length = this.#integer(0x7f);
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw new HpackFault('a string that is cut');
    this.#at = end;
    if (!huffman) return this.#bytes.toString('latin1', start, end);
    const text = decodeHuffman(this.#bytes, start, end);
    if (text === undefined) throw new HpackFault('a string that is not valid Huffman code');
    return text;
  }
}
