// Ends a joined pair of sockets with a message to the client, between two messages of the member. A message that is
// half sent is finished first; a deadline ends the session of a client that does not read.
import type { Duplex } from 'node:stream';
import { lastMessages, MessageBoundary } from './websocket-messages.ts';

/** How long a session may take to come to the end of a message, or its client to read the last one. */
export const lastWordsMs = 1_000;

/** Stands in the direction from the member to the client. */
export class LastWords {
  readonly #client: Duplex;
  readonly #member: Duplex;
  readonly #boundary = new MessageBoundary();
  #words: Buffer | undefined;
  #said = false;

  constructor(client: Duplex, member: Duplex) {
    this.#client = client;
    this.#member = member;
  }

  /** The client's side has been ended; the member's no longer matters. */
  get said(): boolean {
    return this.#said;
  }

  /** What of this piece the client is sent. */
  pass(chunk: Buffer): Buffer {
    if (this.#said) return Buffer.alloc(0);
    const end = this.#boundary.feed(chunk);
    if (this.#words === undefined || end < 0) return chunk;
    // After this turn, when the piece is written.
    queueMicrotask(() => this.#say());
    this.#said = true;
    return chunk.subarray(0, end);
  }

  /** Ends the session with this Status, at once where a message has ended, else where the present one does. */
  end(statusJson: string): void {
    if (this.#words !== undefined) return;
    this.#words = lastMessages(statusJson);
    const timer = setTimeout(() => {
      this.#client.destroy();
      this.#member.destroy();
    }, lastWordsMs);
    this.#client.once('close', () => clearTimeout(timer));
    if (!this.#boundary.atBoundary) return;
    this.#said = true;
    this.#say();
  }

  #say(): void {
    // The member's end would destroy the client's socket, and with it what is not written yet.
    this.#client.end(this.#words, () => this.#member.destroy());
  }
}
