// A queue of spans with a limited size. Spans are sent to the collector in batches, one batch at a time. A slow or
// missing collector must never slow down requests: a span that does not fit into the queue is dropped and counted, and
// a batch that could not be sent is not sent again.
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';

/** Numbers of spans since the start. */
export interface SpanCounts {
  exported: number;
  /** Number of spans that did not fit into the queue. */
  dropped: number;
  /** Number of spans that the collector did not accept. */
  failed: number;
}

export interface SpanQueueOptions {
  readonly queueSize: number;
  readonly batchSize: number;
  readonly delayMs: number;
  readonly counts: SpanCounts;
  /** Called with an error when spans begin to be lost, and with undefined when they are delivered again. */
  readonly onFailing: (error: Error | undefined) => void;
}

/** The value of `ExportResultCode.SUCCESS` in @opentelemetry/core. */
const success = 0;

/** A queue of spans with a limited size, which are sent in batches. */
export class SpanQueue implements SpanProcessor {
  readonly #exporter: SpanExporter;
  readonly #options: SpanQueueOptions;
  #waiting: ReadableSpan[] = [];
  #sending: Promise<void> | undefined;
  #sendingSpans = 0;
  #timer: NodeJS.Timeout | undefined;
  #failing = false;

  constructor(exporter: SpanExporter, options: SpanQueueOptions) {
    this.#exporter = exporter;
    this.#options = options;
  }

  /** Number of spans that wait or are being sent. */
  get length(): number {
    return this.#waiting.length + this.#sendingSpans;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    const { queueSize, batchSize, delayMs, counts } = this.#options;
    if (this.length >= queueSize) {
      counts.dropped += 1;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= batchSize) void this.#send();
    else this.#timer ??= setTimeout(() => void this.#send(), delayMs).unref();
  }

  /** Resolves when every span has been sent or could not be sent. */
  async forceFlush(): Promise<void> {
    while (this.length > 0) await this.#send();
  }

  async shutdown(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#exporter.shutdown();
  }

  /** Sends one batch of spans. While another batch is being sent, the promise of that batch is returned instead. */
  #send(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sending !== undefined) return this.#sending;
    const batch = this.#waiting.splice(0, this.#options.batchSize);
    if (batch.length === 0) return Promise.resolve();
    this.#sendingSpans = batch.length;
    this.#sending = this.#export(batch).then(() => {
      this.#sending = undefined;
      this.#sendingSpans = 0;
      if (this.#waiting.length >= this.#options.batchSize) void this.#send();
      else if (this.#waiting.length > 0) {
        this.#timer ??= setTimeout(() => void this.#send(), this.#options.delayMs).unref();
      }
    });
    return this.#sending;
  }

  async #export(batch: ReadableSpan[]): Promise<void> {
    const { counts, onFailing } = this.#options;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    try {
      this.#exporter.export(batch, ({ code, error }) =>
        resolve(code === success ? undefined : (error ?? new Error('the collector did not accept the spans'))),
      );
    } catch (error) {
      resolve(error instanceof Error ? error : new Error(String(error)));
    }
    const error = await promise;
    if (error === undefined) counts.exported += batch.length;
    else counts.failed += batch.length;
    const isFailing = error !== undefined;
    if (isFailing !== this.#failing) onFailing(error);
    this.#failing = isFailing;
  }
}
