// Reads and writes tar archives, as far as `kubectl cp` needs: ustar, long names of PAX and GNU, files, directories and
// symbolic links. Every entry is padded to 512 bytes. The size field of directories and links must be ignored.

/** One entry of an archive. */
export interface TarEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'symlink';
  readonly mode: number;
  readonly modifiedAtMs: number;
  /** The content of a file; empty for other entries. */
  readonly data: Buffer;
  /** The target of a symbolic link; '' for other entries. */
  readonly target: string;
}

const blockBytes = 512;

/** The padded bytes of one entry. An archive consists of entries and the {@link tarTrailer}. */
export function encodeTarEntry(entry: TarEntry): Buffer {
  const name = entry.kind === 'directory' && !entry.name.endsWith('/') ? `${entry.name}/` : entry.name;
  const records: string[] = [];
  if (Buffer.byteLength(name) > 100) records.push(paxRecord('path', name));
  if (Buffer.byteLength(entry.target) > 100) records.push(paxRecord('linkpath', entry.target));
  const parts: Buffer[] = [];
  if (records.length > 0) {
    const data = Buffer.from(records.join(''));
    parts.push(head('PaxHeaders/entry', 'x', { ...entry, target: '' }, data.length), padded(data));
  }
  const type = { file: '0', directory: '5', symlink: '2' }[entry.kind];
  parts.push(head(name, type, entry, entry.data.length), padded(entry.data));
  return Buffer.concat(parts);
}

/** The end of an archive: two blocks of zeros. */
export function tarTrailer(): Buffer {
  return Buffer.alloc(2 * blockBytes);
}

/** A PAX record `<length> <key>=<value>\n`. The length includes its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest;
  while (rest + String(length).length !== length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function padded(data: Buffer): Buffer {
  const rest = data.length % blockBytes;
  return rest === 0 ? data : Buffer.concat([data, Buffer.alloc(blockBytes - rest)]);
}

function head(name: string, type: string, entry: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, offset: number, width: number): void =>
    void block.write(`${value.toString(8).padStart(width - 1, '0')}\0`, offset, 'latin1');
  block.write(name, 0, 100);
  octal(entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(Math.floor(entry.modifiedAtMs / 1000), 136, 12);
  block.write(' '.repeat(8), 148, 'latin1');
  block.write(type, 156, 'latin1');
  block.write(entry.target, 157, 100);
  block.write('ustar\u000000root', 257, 'latin1');
  block.write('root', 297, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** Reads the entries of a complete archive. @throws Error when the archive is damaged or incomplete */
export function* decodeTar(archive: Buffer): Generator<TarEntry> {
  let offset = 0;
  let extended: ReadonlyMap<string, string> = new Map();
  while (offset + blockBytes <= archive.length) {
    const block = archive.subarray(offset, offset + blockBytes);
    if (block.every((byte) => byte === 0)) return;
    checkSum(block);
    const type = text(block, 156, 1);
    const size = Number(extended.get('size') ?? sizeOf(block));
    offset += blockBytes;
    const hasData = type !== '5' && type !== '2' && type !== '1';
    const end = offset + (hasData ? size : 0);
    if (end > archive.length) throw new Error('Unexpected EOF in archive');
    const data = archive.subarray(offset, end);
    offset = end + ((blockBytes - (end % blockBytes)) % blockBytes);
    if (type === 'x') {
      extended = readPax(data);
      continue;
    }
    if (type === 'L' || type === 'K') {
      extended = new Map([...extended, [type === 'L' ? 'path' : 'linkpath', String(data).replace(/\0+$/, '')]]);
      continue;
    }
    if (type !== 'g') {
      const prefix = text(block, 345, 155);
      const short = text(block, 0, 100);
      yield {
        name: extended.get('path') ?? (prefix === '' ? short : `${prefix}/${short}`),
        kind: type === '5' ? 'directory' : type === '2' ? 'symlink' : 'file',
        mode: Number.parseInt(text(block, 100, 8), 8) & 0o7777,
        modifiedAtMs: Number.parseInt(text(block, 136, 12), 8) * 1000,
        data,
        target: type === '2' ? (extended.get('linkpath') ?? text(block, 157, 100)) : '',
      };
    }
    extended = new Map();
  }
  throw new Error('Unexpected EOF in archive');
}

function text(block: Buffer, offset: number, length: number): string {
  const field = block.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}

function sizeOf(block: Buffer): number {
  // GNU tar writes sizes of 8 GiB and more in binary and sets the high bit.
  if ((block.readUInt8(124) & 0x80) !== 0) return Number(block.readBigUInt64BE(128));
  return Number.parseInt(text(block, 124, 12).trim() || '0', 8);
}

function checkSum(block: Buffer): void {
  const stated = Number.parseInt(text(block, 148, 8).trim(), 8);
  const sum = block.reduce((total, byte, i) => total + (i >= 148 && i < 156 ? 32 : byte), 0);
  if (stated !== sum) throw new Error('invalid tar header checksum');
}

function readPax(data: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  let offset = 0;
  while (offset < data.length) {
    const space = data.indexOf(0x20, offset);
    const length = Number.parseInt(data.toString('latin1', offset, space), 10);
    if (space === -1 || !(length > 0)) throw new Error('invalid pax header');
    const record = data.toString('utf8', space + 1, offset + length - 1);
    const equals = record.indexOf('=');
    records.set(record.slice(0, equals), record.slice(equals + 1));
    offset += length;
  }
  return records;
}
