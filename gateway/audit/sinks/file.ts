// Writes audit events as lines of a file that rotates, or of standard output. A full disk may take half a line: the
// rest is written next, into the same file, and until then nothing counts as stored.
import { closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, statSync, write as writeFd } from 'node:fs';
import { dirname } from 'node:path';
import { backupName, deleteOldFiles } from './rotation.ts';
import type { Retention } from './rotation.ts';
import type { AuditSink, SinkEvents } from './sink.ts';

/** See {@link startAuditFile}. */
export interface AuditFileOptions extends Retention {
  /** `-` is standard output, which never rotates. */
  readonly path: string;
  /** 0 never rotates. */
  readonly maxSizeBytes: number;
  readonly events: SinkEvents;
  /** Bytes that may wait for a slow disk before the sink counts as full. */
  readonly maxPendingBytes?: number;
  /** Between two attempts while the file takes nothing. */
  readonly retryMs?: number;
  readonly nowMs?: () => number;
}

/** Bytes of one write. */
const pieceBytes = 256 * 1024;
const lineEnd = 0x0a;

/**
 * Opens the file; makes it (0600) and its folders (0700) when they are missing.
 * @throws Error with the system's code when it cannot be written, so that the gateway does not serve unrecorded
 */
export function startAuditFile(options: AuditFileOptions): AuditSink {
  return new AuditFile(options);
}

class AuditFile implements AuditSink {
  readonly name = 'log';
  readonly #options: AuditFileOptions;
  readonly #nowMs: () => number;
  #fd: number | undefined;
  #sizeBytes = 0;
  /** Lines with their end. */
  #pending: string[] = [];
  #pendingBytes = 0;
  /** The part of a piece that has not been written. */
  #rest: Buffer | undefined;
  #draining: Promise<void> | undefined;
  #scheduled = false;
  #failing = false;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: AuditFileOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    const fd = this.#open();
    // The last process may have ended in the middle of a line.
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
    // Lines of one turn are written together. A failing file is tried again only by its timer.
    if (this.#scheduled || this.#retry !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#drain();
    });
  }

  async flush(timeoutMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, timeoutMs);
    await Promise.race([this.#drain(), late.promise]);
    clearTimeout(timer);
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

  /** Never rejects. */
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

  /** Whole lines that fit into the file; rotates the file when not even one fits. */
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

/** Resolves with the number of bytes written; 0 after a short wait when a pipe is full. */
function writeSome(fd: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    writeFd(fd, bytes, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === 'EAGAIN') setTimeout(() => resolve(0), 10);
      else reject(error);
    });
  });
}
