// Ends an upgraded WebSocket session with a final message to the client that gives the reason. If a message of the
// member is only partly sent, the final message follows when that one is complete. If this takes too long, or the
// client does not read, the session is closed without it.
import type { Duplex } from 'node:stream';
import { lastMessages, MessageBoundary } from './websocket-messages.ts';

/**
 * Maximum time in milliseconds for ending a session with a final message: for the member's current message to be
 * complete, and for the client to read the final one. Then both sockets are destroyed.
 */
export const lastWordsMs = 1_000;

/** Follows the bytes from the member to the client, and inserts the final message between two messages. */
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

  /**
   * Whether the final message was sent, or will be sent in this turn of the event loop. Errors on the member's socket
   * no longer matter then.
   */
  get said(): boolean {
    return this.#said;
  }

  /**
   * Returns the part of `chunk` (bytes from the member) that is to be sent to the client: all of it, or, while the
   * session is being ended, only up to the end of a message.
   */
  pass(chunk: Buffer): Buffer {
    if (this.#said) return Buffer.alloc(0);
    const end = this.#boundary.feed(chunk);
    if (this.#words === undefined || end < 0) return chunk;
    // In a microtask, because the caller first has to write the returned bytes.
    queueMicrotask(() => this.#say());
    this.#said = true;
    return chunk.subarray(0, end);
  }

  /**
   * Ends the session with this Status as the final message: now if the member's last message is complete, otherwise
   * when it is.
   * @param statusJson a metav1.Status as JSON
   */
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
    // The member's socket is destroyed only when the client's socket is flushed: the client's socket is destroyed with
    // it, and unsent bytes would be lost.
    this.#client.end(this.#words, () => this.#member.destroy());
  }
}
