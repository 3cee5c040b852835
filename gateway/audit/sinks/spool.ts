// Keeps batches of audit events on disk while a webhook does not accept them. Their total size is limited, and they
// survive a restart. A batch is written under a temporary name and renamed when it is complete, so that a full disk
// never leaves part of a batch.
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A batch of audit events in a file. */
export interface SpooledBatch {
  readonly file: string;
  readonly bytes: number;
}

const suffix = '.jsonl';

/** A queue of batches of audit events on disk, oldest first. */
export class Spool {
  readonly #folder: string;
  readonly #maxBytes: number;
  readonly #nowMs: () => number;
  readonly #batches: SpooledBatch[] = [];
  #bytes = 0;
  /** True when the last write to disk failed. */
  #failing = false;
  /** True when the last batch was refused because it did not fit. */
  #refused = false;
  #numbered = 0;

  /**
   * Opens the folder and finds the batches that an earlier process left; creates the folder with mode 0700.
   * @param maxBytes limit for all batches together
   * @throws Error with the system's error code
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

  /** Number of batches on disk that wait to be sent; batches that `take` has returned are not counted. */
  get size(): number {
    return this.#batches.length;
  }

  /** False when the last write to disk failed, when the last batch did not fit, or when the spool is full. */
  get hasRoom(): boolean {
    return !this.#failing && !this.#refused && this.#bytes < this.#maxBytes;
  }

  /**
   * Stores lines as one batch. Returns false when the batch would exceed the limit of bytes.
   * @throws Error with the system's error code when the write fails
   */
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

  /** Returns the oldest batch, or undefined when there is none. Its file stays on disk until `remove` is called. */
  take(): SpooledBatch | undefined {
    return this.#batches.shift();
  }

  /** The complete lines of a batch; [] when its file is gone. */
  read({ file }: SpooledBatch): readonly string[] {
    let text: string;
    try {
      text = readFileSync(file, 'utf8');
    } catch {
      return [];
    }
    return text.split('\n').filter(isWhole);
  }

  /** Puts a batch from `take` back as the oldest, because it was not delivered. */
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
