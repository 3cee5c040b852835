// Tells this process about commits of all processes. It polls the database four times a second, and at once after a
// NOTIFY of another process. NOTIFY only speeds this up: one is sent for several commits, a while after them, and it
// does not work through a PgBouncer in transaction mode.
import { escapeIdentifier, type Client } from 'pg';

import type { Database } from '../connection/database.ts';
import type { ChangeLog } from './log.ts';

const pollMs = 250;
const notifyEveryMs = 50;
const listenAgainMs = 5000;

export class CommitFeed {
  readonly #database: Database;
  readonly #log: Pick<ChangeLog, 'moment'>;
  readonly #channel: string;
  readonly #listeners = new Set<(lastUs: number) => void>();
  readonly #closing = new AbortController();
  #lastUs: number;
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #isAskedAgain = false;
  #client: Client | undefined;
  #notify: NodeJS.Timeout | undefined;
  #fault: string | undefined;
  #heardAtMs = performance.now();

  constructor(database: Database, log: Pick<ChangeLog, 'moment'>, storeId: string, lastUs: number) {
    this.#database = database;
    this.#log = log;
    this.#channel = `portcullis_${storeId}`;
    this.#lastUs = lastUs;
    this.#schedule();
    void this.#listen();
  }

  /** Time of the newest change that this process knows of, in microseconds. All changes up to it can be read. */
  get lastUs(): number {
    return this.#lastUs;
  }

  /** Why the database did not answer the last poll; undefined when it did answer. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Milliseconds since the database last answered a poll. */
  get lagMs(): number {
    return performance.now() - this.#heardAtMs;
  }

  /**
   * Calls the listener whenever there are new changes, with the time of the last one in microseconds. Returns a
   * function that removes the listener.
   */
  subscribe(listener: (lastUs: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Notes a change that was seen in the database, and calls the listeners.
   * @param lastUs its time in microseconds
   */
  advance(lastUs: number): void {
    if (lastUs <= this.#lastUs) return;
    this.#lastUs = lastUs;
    for (const listener of this.#listeners) listener(lastUs);
  }

  /** Notes a commit of this process, and sends a NOTIFY to the other processes within 50 ms. */
  committed(lastUs: number): void {
    this.advance(lastUs);
    this.#notify ??= setTimeout(() => {
      this.#notify = undefined;
      // A failed notification does no harm: other processes find the change by polling.
      this.#database.query('SELECT pg_notify($1, $2)', [this.#channel, '']).catch(() => undefined);
    }, notifyEveryMs);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#notify);
    this.#listeners.clear();
    await this.#asking;
    await this.#client?.end().catch(() => undefined);
  }

  /**
   * Handles a database that has lost the newest changes, for example because a standby that was behind took over.
   * Watches that have sent lost changes do not find their position in the change log, so their clients must list again.
   */
  #setBack(lastUs: number, known: number): void {
    if (this.#lastUs !== known) return;
    this.#lastUs = lastUs;
    for (const listener of this.#listeners) listener(lastUs);
  }

  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => this.#ask(), pollMs);
  }

  #ask(): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    if (this.#asking !== undefined) {
      this.#isAskedAgain = true;
      return;
    }
    const known = this.#lastUs;
    this.#asking = this.#log
      .moment()
      .then(({ lastUs }) => {
        this.#fault = undefined;
        this.#heardAtMs = performance.now();
        if (lastUs < known) this.#setBack(lastUs, known);
        this.advance(lastUs);
      })
      // The database is unreachable. The error is kept in `fault` for readers, and the next poll tries again.
      .catch((error: unknown) => void (this.#fault = error instanceof Error ? error.message : String(error)))
      .finally(() => {
        this.#asking = undefined;
        const again = this.#isAskedAgain;
        this.#isAskedAgain = false;
        if (again) this.#ask();
        else this.#schedule();
      });
  }

  /** Listens for notifications, on a connection of its own, until the feed is closed. */
  async #listen(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const client = this.#database.newClient();
    client.on('error', () => undefined);
    client.on('notification', () => this.#ask());
    client.once('end', () => this.#listenAgain());
    try {
      await client.connect();
      this.#client = client;
      await client.query(`LISTEN ${escapeIdentifier(this.#channel)}`);
      if (this.#closing.signal.aborted) await client.end();
    } catch {
      await client.end().catch(() => undefined);
    }
  }

  #listenAgain(): void {
    if (this.#closing.signal.aborted) return;
    setTimeout(() => void this.#listen(), listenAgainMs).unref();
  }
}
