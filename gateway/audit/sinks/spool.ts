// Keeps batches of audit events on disk while a webhook does not take them. The bytes are bounded, and the batches are
// found again after a restart. A batch gets its final name when it is whole, so a disk that becomes full leaves no half
// batch behind.
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A batch on disk. */
export interface SpooledBatch {
  readonly file: string;
  readonly bytes: number;
}

const suffix = '.jsonl';

/** Batches in order of age. */
export class Spool {
  readonly #folder: string;
  readonly #maxBytes: number;
  readonly #nowMs: () => number;
  readonly #batches: SpooledBatch[] = [];
  #bytes = 0;
  /** The last write failed. */
  #failing = false;
  /** The last batch did not fit. */
  #refused = false;
  #numbered = 0;

  /**
   * Opens or makes the folder (0700).
   * @param maxBytes over all batches
   * @throws Error with the system's code
   */
  constructor(folder: string, maxBytes: number, nowMs: () => number = Date.now) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
    this.#nowMs = nowMs;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(folder).toSorted()) {
      const file = join(folder, name);
      if (name.endsWith(suffix)) this.#append({ file, bytes: statSync(file).size });
      else if (name.endsWith(`${suffix}.part`)) rmSync(file, { force: true });
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Batches that were not taken yet. */
  get size(): number {
    return this.#batches.length;
  }

  /** Whether one more batch is likely to be kept. */
  get hasRoom(): boolean {
    return !this.#failing && !this.#refused && this.#bytes < this.#maxBytes;
  }

  /** Keeps lines; false when there is no room. @throws Error with the system's code when the write fails */
  add(lines: readonly string[]): boolean {
    const text = Buffer.from(`${lines.join('\n')}\n`);
    if (this.#bytes + text.length > this.#maxBytes) {
      this.#refused = true;
      return false;
    }
    this.#numbered += 1;
    const name = `${String(this.#nowMs()).padStart(15, '0')}-${String(this.#numbered).padStart(9, '0')}${suffix}`;
    const file = join(this.#folder, name);
    try {
      writeFileSync(`${file}.part`, text, { mode: 0o600 });
      renameSync(`${file}.part`, file);
      this.#failing = false;
    } catch (error) {
      this.#failing = true;
      rmSync(`${file}.part`, { force: true });
      throw error;
    }
    this.#append({ file, bytes: text.length });
    return true;
  }

  /** The oldest batch; it stays on disk until `remove`. */
  take(): SpooledBatch | undefined {
    return this.#batches.shift();
  }

  /** Lines of a batch that are whole; [] when its file is gone. */
  read({ file }: SpooledBatch): readonly string[] {
    let text: string;
    try {
      text = readFileSync(file, 'utf8');
    } catch {
      return [];
    }
    return text.split('\n').filter(isWhole);
  }

  /** Makes a batch that was not delivered the oldest again. */
  putBack(batch: SpooledBatch): void {
    this.#batches.unshift(batch);
  }

  remove(batch: SpooledBatch): void {
    rmSync(batch.file, { force: true });
    this.#bytes -= batch.bytes;
    this.#failing = false;
    this.#refused = false;
  }

  #append(batch: SpooledBatch): void {
    this.#batches.push(batch);
    this.#bytes += batch.bytes;
  }
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
