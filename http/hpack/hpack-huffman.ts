// The Huffman code of HPACK (RFC 7541 section 5.2 and appendix B). The code is canonical, so the code lengths are
// enough to compute it. A string must end with at most seven padding bits, all of them ones; anything else is a
// connection error.

/**
 * Length in bits of the code of each byte (index 0 to 255) and of EOS (256). Codes of the same length are consecutive,
 * in the order of their symbols.
 */
const codeLengths: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
];
const endOfString = 256;

/**
 * Flags of an entry of the decoding table. Its four bits complete a byte (`emits`), the string may end after them
 * (`accepts`), or they complete EOS, which no string may contain (`fails`).
 */
const emits = 0x1_0000;
const accepts = 0x2_0000;
const fails = 0x4_0000;

/**
 * Builds the decoding table, which is read with four bits of input at a time. A state is an inner node of the code
 * tree; the entry at `state * 16 + bits` holds the next state in bits 0-7, a decoded byte in bits 8-15, and flags
 * above. There are 256 states.
 */
function makeTable(): Int32Array {
  const zero = new Int16Array(256).fill(-1);
  const one = new Int16Array(256).fill(-1);
  let nodes = 1;
  const order = codeLengths.map((bits, symbol) => ({ bits, symbol }));
  order.sort((a, b) => a.bits - b.bits || a.symbol - b.symbol);
  let code = 0;
  let width = order[0]!.bits;
  /**
   * Inner nodes that at most seven one-bits lead to from the root. A string may end there, because its padding is ones.
   */
  const mayEnd = new Uint8Array(256);
  mayEnd[0] = 1;
  for (const { bits, symbol } of order) {
    code <<= bits - width;
    width = bits;
    let node = 0;
    for (let bit = bits - 1; bit >= 0; bit--) {
      const side = ((code >> bit) & 1) === 1 ? one : zero;
      if (bit === 0) side[node] = 256 + symbol;
      else {
        if (side[node]! < 0) {
          if (side === one && mayEnd[node] === 1 && bits - bit <= 7) mayEnd[nodes] = 1;
          side[node] = nodes++;
        }
        node = side[node]!;
      }
    }
    code++;
  }
  const table = new Int32Array(256 * 16);
  for (let state = 0; state < 256; state++) {
    for (let nibble = 0; nibble < 16; nibble++) {
      let node = state;
      let entry = 0;
      for (let bit = 3; bit >= 0; bit--) {
        const next = ((nibble >> bit) & 1) === 1 ? one[node]! : zero[node]!;
        if (next < 256) node = next;
        else {
          if (next - 256 === endOfString) entry |= fails;
          else entry |= emits | ((next - 256) << 8);
          node = 0;
        }
      }
      table[state * 16 + nibble] = entry | node | (mayEnd[node] === 1 ? accepts : 0);
    }
  }
  return table;
}

let table: Int32Array | undefined;

/** Decodes `bytes[start, end)` into a latin1 string; undefined when it is not valid Huffman coding. */
export function decodeHuffman(bytes: Buffer, start: number, end: number): string | undefined {
  if (start === end) return '';
  const steps = (table ??= makeTable());
  // Upper bound for the decoded length: the shortest code has five bits.
  const decoded = Buffer.allocUnsafe(Math.floor(((end - start) * 8) / 5) + 1);
  let length = 0;
  let entry = 0;
  let failed = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    entry = steps[((entry & 0xff) << 4) | (byte >> 4)]!;
    failed |= entry;
    if ((entry & emits) !== 0) decoded[length++] = (entry >> 8) & 0xff;
    entry = steps[((entry & 0xff) << 4) | (byte & 15)]!;
    failed |= entry;
    if ((entry & emits) !== 0) decoded[length++] = (entry >> 8) & 0xff;
  }
  if ((failed & fails) !== 0 || (entry & accepts) === 0) return undefined;
  return decoded.toString('latin1', 0, length);
}

/** The code of each byte as a number; {@link codeLengths} has its length in bits. */
function makeCodes(): Int32Array {
  const codes = new Int32Array(256);
  const order = codeLengths.map((bits, symbol) => ({ bits, symbol }));
  order.sort((a, b) => a.bits - b.bits || a.symbol - b.symbol);
  let code = 0;
  let width = order[0]!.bits;
  for (const { bits, symbol } of order) {
    code <<= bits - width;
    width = bits;
    if (symbol !== endOfString) codes[symbol] = code;
    code++;
  }
  return codes;
}

let codes: Int32Array | undefined;

/** Huffman-codes a string of latin1 characters and pads the last byte with ones. */
export function encodeHuffman(text: string): Buffer {
  const codeOf = (codes ??= makeCodes());
  // Upper bound for the coded length: the longest code of a byte has 30 bits.
  const coded = Buffer.allocUnsafe(Math.ceil((text.length * 30) / 8) + 1);
  let length = 0;
  let pending = 0;
  let bits = 0;
  for (let i = 0; i < text.length; i++) {
    const byte = text.charCodeAt(i) & 0xff;
    // `pending` has at most 7 + 30 bits, within the 53 bits that a number holds exactly.
    pending = pending * 2 ** codeLengths[byte]! + codeOf[byte]!;
    bits += codeLengths[byte]!;
    while (bits >= 8) {
      bits -= 8;
      const head = Math.floor(pending / 2 ** bits);
      coded[length++] = head;
      pending -= head * 2 ** bits;
    }
  }
  if (bits > 0) coded[length++] = (pending << (8 - bits)) | (0xff >> bits);
  return coded.subarray(0, length);
}
