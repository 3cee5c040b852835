// Writes header blocks in every way that RFC 7541 knows. Both sides keep the dynamic table by themselves, so what is
// added here must be added in the order in which the other side reads it.
import { encodeHuffman } from '../../../http/hpack/hpack-huffman.ts';
import { DynamicTable, staticCount, staticFields } from '../../../http/hpack/hpack-table.ts';
import type { SentField } from './case.ts';

/** Bits of {@link SentField.how}. */
const representations = ['literal', 'incremental', 'never', 'indexed'] as const;
const namedByIndex = 4;
const huffmanName = 8;
const huffmanValue = 16;
/** One more than the largest. */
export const manners = 32;

/** Makes the writer of one connection. */
export function makeBlockWriter(): (fields: readonly SentField[]) => Buffer {
  const table = new DynamicTable();
  const find = (fits: (name: string, value: string) => boolean): number => {
    for (let i = 0; i < staticCount; i++) if (fits(staticFields[i * 2]!, staticFields[i * 2 + 1]!)) return i + 1;
    for (let i = 0; i < table.count; i++) if (fits(table.name(i), table.value(i))) return staticCount + 1 + i;
    return 0;
  };
  const field = ({ name, value, how }: SentField): Buffer => {
    const representation = representations[how & 3]!;
    if (representation === 'indexed') {
      const index = find((one, other) => one === name && other === value);
      if (index > 0) return integer(index, 7, 0x80);
    }
    const known = (how & namedByIndex) === 0 ? 0 : find((one) => one === name);
    const [bits, first] = representation === 'literal' ? [4, 0] : representation === 'never' ? [4, 0x10] : [6, 0x40];
    const parts = [integer(known, bits, first)];
    if (known === 0) parts.push(text(name, (how & huffmanName) !== 0));
    parts.push(text(value, (how & huffmanValue) !== 0));
    if (first === 0x40) table.add(name, value);
    return Buffer.concat(parts);
  };
  return (fields) => Buffer.concat(fields.map(field));
}

/** Section 5.1. */
function integer(value: number, bits: number, first: number): Buffer {
  const limit = 2 ** bits - 1;
  if (value < limit) return Buffer.from([first | value]);
  const bytes = [first | limit];
  let rest = value - limit;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

/** Section 5.2. */
function text(value: string, huffman: boolean): Buffer {
  const bytes = huffman ? encodeHuffman(value) : Buffer.from(value, 'latin1');
  return Buffer.concat([integer(bytes.length, 7, huffman ? 0x80 : 0), bytes]);
}
