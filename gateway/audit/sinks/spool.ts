// Batches of audit events on disk, for as long as a webhook does not take them; bounded in bytes, found again after a
// restart. Easy to get wrong: a batch counts as kept only under its final name, so that a disk that fills up in the
// middle leaves no half batch behind.
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A batch on disk. */
export interface SpooledBatch {
  readonly file: string;
  readonly bytes: number;
}

/** Batches in order of age. */
export interface Spool {
  readonly bytes: number;
  readonly size: number;
  /** Whether one more batch would be kept, as far as is known. */
  readonly hasRoom: boolean;
  /** Keeps lines; false when there is no room. @throws Error with the system's code when the disk takes nothing */
  add(lines: readonly string[]): boolean;
  /** The oldest batch; it stays on disk until `remove`. */
  take(): SpooledBatch | undefined;
  /** Lines of a batch that are whole; [] when it is gone. */
  read(batch: SpooledBatch): readonly string[];
  /** The batch was not delivered: it is the oldest again. */
  putBack(batch: SpooledBatch): void;
  remove(batch: SpooledBatch): void;
}

const suffix = '.jsonl';

/**
 * Opens or makes the folder (0700).
 * @param maxBytes over all batches
 * @throws Error with the system's code
 */
export function openSpool(folder: string, maxBytes: number, nowMs: () => number = Date.now): Spool {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const batches: SpooledBatch[] = [];
  let bytes = 0;
  let failing = false;
  let refused = false;
  let numbered = 0;
  for (const name of readdirSync(folder).toSorted()) {
    const file = join(folder, name);
    if (name.endsWith(suffix)) {
      const { size } = statSync(file);
      batches.push({ file, bytes: size });
      bytes += size;
    } else if (name.endsWith(`${suffix}.part`)) rmSync(file, { force: true });
  }
  return {
    get bytes() {
      return bytes;
    },
    get size() {
      return batches.length;
    },
    get hasRoom() {
      return !failing && !refused && bytes < maxBytes;
    },
    add(lines) {
      const text = Buffer.from(`${lines.join('\n')}\n`);
      if (bytes + text.length > maxBytes) {
        refused = true;
        return false;
      }
      numbered += 1;
      const name = `${String(nowMs()).padStart(15, '0')}-${String(numbered).padStart(9, '0')}${suffix}`;
      const file = join(folder, name);
      try {
        writeFileSync(`${file}.part`, text, { mode: 0o600 });
        renameSync(`${file}.part`, file);
        failing = false;
      } catch (error) {
        failing = true;
        rmSync(`${file}.part`, { force: true });
        throw error;
      }
      batches.push({ file, bytes: text.length });
      bytes += text.length;
      return true;
    },
    take: () => batches.shift(),
    read({ file }) {
      let text: string;
      try {
        text = readFileSync(file, 'utf8');
      } catch {
        return [];
      }
      return text.split('\n').filter(isWhole);
    },
    putBack: (batch) => void batches.unshift(batch),
    remove(batch) {
      rmSync(batch.file, { force: true });
      bytes -= batch.bytes;
      failing = false;
      refused = false;
    },
  };
}

function isWhole(line: string): boolean {
  if (line === '') return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
