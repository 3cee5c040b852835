// Ends an upgraded WebSocket session with a final message to the client that says why. The message is sent only after a
// message of the member that is half sent is complete. A deadline closes the session if that takes too long or the
// client does not read.
import type { Duplex } from 'node:stream';
import { lastMessages, MessageBoundary } from './websocket-messages.ts';

/**
 * Most milliseconds for ending a session: until the member's current message is complete and the client has read the
 * final message.
 */
export const lastWordsMs = 1_000;

/** Watches the bytes from the member to the client, and inserts the final message. */
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

  /** Whether the session was ended with the final message. What happens on the member's socket is then irrelevant. */
  get said(): boolean {
    return this.#said;
  }

  /**
   * Returns the part of `chunk` (bytes from the member) to send to the client: all of it or, when the session is being
   * ended, only up to the end of a message.
   */
  pass(chunk: Buffer): Buffer {
    if (this.#said) return Buffer.alloc(0);
    const end = this.#boundary.feed(chunk);
    if (this.#words === undefined || end < 0) return chunk;
    // Deferred, because the caller first writes the returned bytes.
    queueMicrotask(() => this.#say());
    this.#said = true;
    return chunk.subarray(0, end);
  }

  /**
   * Ends the session with this Status as the final message: at once if the member's last message is complete, otherwise
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
    // The client's socket is flushed first, because destroying the member's socket destroys the client's too, with all
    // unsent bytes.
    this.#client.end(this.#words, () => this.#member.destroy());
  }
}
