// Writes audit events as lines to a file that is rotated, or to standard output. When the disk fills up in the middle
// of a line, the rest of that line is written to the same file as soon as there is space again, before any other line.
import { closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, statSync, write as writeFd } from 'node:fs';
import { dirname } from 'node:path';
import { within } from '../../../lib/within.ts';
import { backupName, deleteOldFiles } from './rotation.ts';
import type { Retention } from './rotation.ts';
import type { AuditSink, SinkEvents } from './sink.ts';

/** Options of {@link AuditFile}. */
export interface AuditFileOptions extends Retention {
  /** File to write to; `-` is standard output, which is never rotated. */
  readonly path: string;
  /** Size in bytes above which the file is rotated; 0 means never. */
  readonly maxSizeBytes: number;
  readonly events: SinkEvents;
  /** How many bytes of lines may wait for a slow disk; with more, `accepting` becomes false. 16 MiB by default. */
  readonly maxPendingBytes?: number;
  /** Milliseconds between two attempts while writing fails. */
  readonly retryMs?: number;
  readonly nowMs?: () => number;
}

/** Maximum number of bytes in one write to the file or to standard output. */
const pieceBytes = 256 * 1024;
const lineEnd = 0x0a;

/** An audit sink that writes to a file or to standard output. */
export class AuditFile implements AuditSink {
  readonly name = 'log';
  readonly #options: AuditFileOptions;
  readonly #nowMs: () => number;
  #fd: number | undefined;
  #sizeBytes = 0;
  /** Lines that wait to be written, each with its newline. */
  #pending: string[] = [];
  #pendingBytes = 0;
  /** The part of the last write that did not reach the file; it must be written before anything else. */
  #rest: Buffer | undefined;
  #draining: Promise<void> | undefined;
  #scheduled = false;
  #failing = false;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;

  /**
   * Opens the audit file. Missing files are created with mode 0600, missing folders with 0700.
   * @throws Error with the system's error code when the file cannot be written, so that the gateway does not start
   * without an audit log
   */
  constructor(options: AuditFileOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    const fd = this.#open();
    // When the existing file ends in the middle of a line, because the last process crashed there, a newline is written
    // first.
    const last = Buffer.alloc(1);
    const isTorn = this.#sizeBytes > 0 && readSync(fd, last, 0, 1, this.#sizeBytes - 1) === 1 && last[0] !== lineEnd;
    if (isTorn) this.#rest = Buffer.from('\n');
  }

  get accepting(): boolean {
    return !this.#failing && this.#pendingBytes < (this.#options.maxPendingBytes ?? 16 * 1024 * 1024);
  }

  write(line: string): undefined {
    this.#pending.push(`${line}\n`);
    this.#pendingBytes += line.length + 1;
    // All lines that arrive in the same iteration of the event loop are written together. After a failed write, only
    // the retry timer starts the next write.
    if (this.#scheduled || this.#retry !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#drain();
    });
  }

  async flush(timeoutMs: number): Promise<void> {
    await within(timeoutMs, this.#drain());
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    void this.#drain();
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#writeAll().finally(() => (this.#draining = undefined));
    return this.#draining;
  }

  /**
   * Writes all waiting lines. Never rejects: a failure is reported by `events.failing`, and writing is tried again
   * later.
   */
  async #writeAll(): Promise<void> {
    try {
      while (this.#rest !== undefined || this.#pending.length > 0) {
        this.#rest ??= this.#nextPiece();
        const written = await writeSome(this.#open(), this.#rest);
        this.#sizeBytes += written;
        this.#rest = written < this.#rest.length ? this.#rest.subarray(written) : undefined;
      }
      if (this.#failing) {
        this.#failing = false;
        this.#options.events.recovered();
      }
      if (this.#closed) this.#shut();
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (!this.#failing) this.#options.events.failing(error);
    this.#failing = true;
    if (this.#closed) {
      this.#options.events.lost(this.#pending.length + (this.#rest === undefined ? 0 : 1), error);
      this.#pending = [];
      this.#rest = undefined;
      this.#shut();
      return;
    }
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.#drain();
    }, this.#options.retryMs ?? 1000).unref();
  }

  /**
   * The next bytes to write: as many whole lines as fit into the file before it reaches `maxSizeBytes`. When not even
   * one line fits, the file is rotated first.
   */
  #nextPiece(): Buffer {
    const { maxSizeBytes } = this.#options;
    this.#open();
    const first = Buffer.byteLength(this.#pending[0]!);
    const rotates = maxSizeBytes > 0 && this.#options.path !== '-';
    if (rotates && this.#sizeBytes > 0 && this.#sizeBytes + first > maxSizeBytes) this.#rotate();
    let bytes = first;
    let count = 1;
    while (count < this.#pending.length) {
      const next = Buffer.byteLength(this.#pending[count]!);
      if (bytes + next > pieceBytes || (rotates && this.#sizeBytes + bytes + next > maxSizeBytes)) break;
      bytes += next;
      count += 1;
    }
    const lines = this.#pending.splice(0, count);
    for (const line of lines) this.#pendingBytes -= line.length;
    return Buffer.from(lines.join(''));
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd;
    const { path } = this.#options;
    if (path === '-') return (this.#fd = 1);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(path, 'a+', 0o600);
    this.#fd = fd;
    this.#sizeBytes = fstatSync(fd).size;
    void deleteOldFiles(path, this.#options, this.#nowMs());
    return fd;
  }

  #rotate(): void {
    const { path } = this.#options;
    const { mode } = statSync(path);
    this.#shut();
    renameSync(path, backupName(path, this.#nowMs()));
    this.#fd = openSync(path, 'a', mode & 0o777);
    this.#sizeBytes = 0;
    void deleteOldFiles(path, this.#options, this.#nowMs());
  }

  #shut(): void {
    if (this.#fd !== undefined && this.#fd > 2) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

/**
 * Writes to a file descriptor; resolves with the number of bytes written. When a pipe is full it resolves with 0 after
 * 10 ms.
 */
function writeSome(fd: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    writeFd(fd, bytes, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === 'EAGAIN') setTimeout(() => resolve(0), 10);
      else reject(error);
    });
  });
}
