// Sends audit events to a webhook in batches, and repeats a batch until the webhook accepts it. While the webhook
// fails, batches wait on disk, so that they survive a crash or restart. A receiver may get an event twice; both copies
// have the same auditID and stage.
import type { BatchOptions } from '../../../config/sections/audit-config.ts';
import { TokenBucket } from '../../limits/token-bucket.ts';
import type { AuditSink, SinkEvents } from './sink.ts';
import type { Spool, SpooledBatch } from './spool.ts';

/** Options of {@link AuditWebhook}. */
export interface AuditWebhookOptions {
  readonly mode: 'batch' | 'blocking';
  readonly batch: BatchOptions;
  readonly initialBackoffMs: number;
  /**
   * Sends lines to the webhook. Rejects when the webhook did not accept them, with a {@link WebhookRefusal} when it
   * answered with a status other than 2xx.
   */
  readonly send: (lines: readonly string[], signal: AbortSignal) => Promise<void>;
  readonly spool: Spool;
  readonly events: SinkEvents;
  readonly nowMs?: () => number;
  /** Replaces Math.random in tests: returns a number from 0 to below 1. */
  readonly random?: () => number;
}

/** Thrown when the webhook answered with a status other than 2xx. */
export class WebhookRefusal extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the audit webhook answered ${status}`);
    this.name = 'WebhookRefusal';
    this.status = status;
  }
}

interface Batch {
  /** The events as lines of JSON; undefined while they are only on disk. */
  readonly lines: readonly string[] | undefined;
  readonly spooled: SpooledBatch | undefined;
  /**
   * For mode `blocking`: functions to call with true when the events have been stored, or with false when they could
   * not be.
   */
  readonly waiting: readonly ((stored: boolean) => void)[];
  attempts: number;
}

const concurrentSends = 4;
/**
 * Backoff between attempts after a failure, as in kube-apiserver: factor 1.5, jitter 0.2 (apiserver pkg/util/webhook).
 * kube-apiserver gives up after five attempts; the gateway goes on trying.
 */
const backoffFactor = 1.5;
const backoffJitter = 0.2;
const longestBackoffMs = 60_000;
/**
 * When the webhook answers that a batch is invalid (400, 413, 415, 422), the batch is dropped after this many attempts.
 * Otherwise one invalid batch would hold back all others.
 */
const attemptsWhenRefused = 5;
const wrongBatch: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** A sink for the webhook. It first sends the batches that an earlier process left on disk. */
export class AuditWebhook implements AuditSink {
  readonly name = 'webhook';
  readonly #options: AuditWebhookOptions;
  readonly #nowMs: () => number;
  readonly #giveUp = new AbortController();
  #forming: string[] = [];
  #formingWaits: ((stored: boolean) => void)[] = [];
  #formTimer: NodeJS.Timeout | undefined;
  #queue: Batch[] = [];
  readonly #sending = new Set<Batch>();
  /** Number of events in memory that already belong to a batch, whether the batch is waiting or being sent. */
  #batchedEvents = 0;
  #failures = 0;
  #paused = false;
  /** Limits how often batches are sent; undefined when they are not throttled. */
  readonly #bucket: TokenBucket | undefined;
  #closed = false;
  #onIdle: (() => void)[] = [];

  constructor(options: AuditWebhookOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    const { throttleQps, throttleBurst } = options.batch;
    if (throttleQps > 0) this.#bucket = new TokenBucket(throttleQps, throttleBurst, this.#nowMs());
    this.#pump();
  }

  get accepting(): boolean {
    const { mode, batch, spool } = this.#options;
    if (mode === 'blocking' && this.#failures > 0) return false;
    return this.#batchedEvents + this.#forming.length < batch.bufferSize || (mode === 'batch' && spool.hasRoom);
  }

  write(line: string): Promise<boolean> | undefined {
    this.#forming.push(line);
    if (this.#closed) {
      this.#form();
      return undefined;
    }
    if (this.#options.mode === 'blocking') {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      this.#formingWaits.push(resolve);
      // In mode `blocking`, lines that arrive in the same iteration of the event loop make one batch.
      if (this.#forming.length === 1) setImmediate(() => this.#form());
      return promise;
    }
    if (this.#forming.length >= this.#options.batch.maxSize) this.#form();
    else this.#formTimer ??= setTimeout(() => this.#form(), this.#options.batch.maxWaitMs).unref();
    return undefined;
  }

  async flush(timeoutMs: number): Promise<void> {
    this.#form();
    if (this.#isIdle()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    this.#onIdle.push(resolve);
    await promise;
    clearTimeout(timer);
  }

  close(): void {
    this.#closed = true;
    this.#form();
    const left = [...this.#sending, ...this.#queue.splice(0)];
    this.#sending.clear();
    this.#giveUp.abort();
    for (const batch of left) if (batch.lines !== undefined) this.#keep(batch.lines);
  }

  #isIdle(): boolean {
    return (
      this.#sending.size === 0 && this.#queue.length === 0 && (this.#failures > 0 || this.#options.spool.size === 0)
    );
  }

  #form(): void {
    clearTimeout(this.#formTimer);
    this.#formTimer = undefined;
    const lines = this.#forming;
    if (lines.length === 0) return;
    this.#forming = [];
    const waiting = this.#formingWaits.splice(0);
    const isFull = this.#batchedEvents + lines.length > this.#options.batch.bufferSize;
    if ((this.#failures > 0 || isFull || this.#closed) && this.#toSpool(lines)) {
      for (const tell of waiting) tell(false);
    } else if (this.#closed)
      this.#options.events.lost(lines.length, new Error('the spool of the audit webhook is full'));
    else this.#enqueue({ lines, spooled: undefined, waiting, attempts: 0 });
    this.#pump();
  }

  #enqueue(batch: Batch): void {
    this.#batchedEvents += batch.lines?.length ?? 0;
    this.#queue.push(batch);
  }

  /** Writes the lines to disk as one batch. Returns false when they could not be stored. */
  #toSpool(lines: readonly string[]): boolean {
    try {
      return this.#options.spool.add(lines);
    } catch (error) {
      this.#options.events.failing(error);
      return false;
    }
  }

  #keep(lines: readonly string[]): void {
    if (!this.#toSpool(lines))
      this.#options.events.lost(lines.length, new Error('the audit spool accepts no more events'));
  }

  #pump(): void {
    if (this.#closed || this.#paused) return;
    while (this.#sending.size < (this.#failures > 0 ? 1 : concurrentSends)) {
      const waitMs = this.#bucket?.untilNextMs(this.#nowMs()) ?? 0;
      if (waitMs > 0) {
        this.#pauseFor(waitMs);
        return;
      }
      const batch = this.#next();
      if (batch === undefined) break;
      this.#bucket?.take(this.#nowMs());
      void this.#deliver(batch);
    }
    if (this.#isIdle()) for (const tell of this.#onIdle.splice(0)) tell();
  }

  /**
   * Takes the next batch to send. Batches in memory come before those on disk, since a request may be waiting for them.
   */
  #next(): Batch | undefined {
    const queued = this.#queue.shift();
    if (queued !== undefined) return queued;
    const spooled = this.#options.spool.take();
    return spooled && { lines: undefined, spooled, waiting: [], attempts: 0 };
  }

  #pauseFor(waitMs: number): void {
    this.#paused = true;
    setTimeout(() => {
      this.#paused = false;
      this.#pump();
    }, waitMs).unref();
  }

  async #deliver(batch: Batch): Promise<void> {
    this.#sending.add(batch);
    const lines = batch.lines ?? this.#options.spool.read(batch.spooled!);
    try {
      if (lines.length > 0) await this.#options.send(lines, this.#giveUp.signal);
      if (this.#sending.delete(batch)) this.#delivered(batch);
    } catch (error) {
      // If #sending no longer has the batch, close() has already written the batch to disk.
      if (this.#sending.delete(batch)) this.#notDelivered(batch, lines.length, error);
    }
    this.#pump();
  }

  #delivered(batch: Batch): void {
    this.#release(batch);
    if (this.#failures > 0) this.#options.events.recovered();
    this.#failures = 0;
    for (const tell of batch.waiting) tell(true);
  }

  #release(batch: Batch): void {
    this.#batchedEvents -= batch.lines?.length ?? 0;
    if (batch.spooled !== undefined) this.#options.spool.remove(batch.spooled);
  }

  #notDelivered(batch: Batch, events: number, error: unknown): void {
    for (const tell of batch.waiting) tell(false);
    if (this.#failures === 0) this.#options.events.failing(error);
    this.#failures += 1;
    batch.attempts += 1;
    const isWrong = error instanceof WebhookRefusal && wrongBatch.has(error.status);
    if (isWrong && batch.attempts >= attemptsWhenRefused) {
      this.#release(batch);
      this.#options.events.lost(events, error);
    } else if (isWrong) this.#queue.unshift({ ...batch, waiting: [] });
    else this.#postpone([{ ...batch, waiting: [] }, ...this.#queue.splice(0)]);
    const { initialBackoffMs, random = Math.random } = this.#options;
    const backoffMs = Math.min(longestBackoffMs, initialBackoffMs * backoffFactor ** (this.#failures - 1));
    this.#pauseFor(backoffMs * (1 + backoffJitter * random()));
  }

  /** Moves batches from memory to disk. A batch that does not fit on disk stays in the queue in memory. */
  #postpone(batches: readonly Batch[]): void {
    for (const batch of batches) {
      if (batch.spooled !== undefined) this.#options.spool.putBack(batch.spooled);
      else if (this.#toSpool(batch.lines!)) {
        this.#batchedEvents -= batch.lines!.length;
        for (const tell of batch.waiting) tell(false);
      } else this.#queue.push(batch);
    }
  }
}
