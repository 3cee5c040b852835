// Follows the frames of one direction of a WebSocket (RFC 6455 section 5.2) to know where a message ends. Also makes
// the last messages that a client of exec or attach gets. They may only be put between two messages: inside a frame, or
// between the fragments of a message, the client would read garbage.
import type { EventBoundary } from './event-boundary.ts';

/** Finds the ends of messages in what a server sends; works on any split of the bytes. */
export class MessageBoundary implements EventBoundary {
  /** Bytes of frame header so far; a server's is 2, 4 or 10 bytes, 4 more when masked. */
  readonly #header = Buffer.alloc(14);
  #headerBytes = 0;
  #payloadLeft = 0;
  /** Between the fragments of a message. */
  #fragmented = false;

  get atBoundary(): boolean {
    return this.#headerBytes === 0 && this.#payloadLeft === 0 && !this.#fragmented;
  }

  feed(chunk: Buffer): number {
    let last = -1;
    let at = 0;
    while (at < chunk.length) {
      if (this.#payloadLeft > 0) {
        const taken = Math.min(this.#payloadLeft, chunk.length - at);
        this.#payloadLeft -= taken;
        at += taken;
      } else {
        this.#header[this.#headerBytes++] = chunk[at++]!;
        if (this.#headerBytes < this.#headerLength()) continue;
        this.#readHeader();
      }
      if (this.atBoundary) last = at;
    }
    return last;
  }

  #headerLength(): number {
    if (this.#headerBytes < 2) return 2;
    const length = this.#header[1]! & 0x7f;
    const masked = (this.#header[1]! & 0x80) === 0 ? 0 : 4;
    return masked + (length === 127 ? 10 : length === 126 ? 4 : 2);
  }

  #readHeader(): void {
    const length = this.#header[1]! & 0x7f;
    this.#payloadLeft =
      length === 127 ? Number(this.#header.readBigUInt64BE(2)) : length === 126 ? this.#header.readUInt16BE(2) : length;
    const isControl = (this.#header[0]! & 0x08) !== 0;
    // Control frames may stand between fragments and are whole by themselves.
    if (!isControl) this.#fragmented = (this.#header[0]! & 0x80) === 0;
    this.#headerBytes = 0;
  }
}

/**
 * Subprotocols whose channel 3 carries a metav1.Status as the last message
 * (k8s.io/apimachinery/pkg/util/remotecommand).
 */
const statusProtocols: ReadonlySet<string> = new Set(['v4.channel.k8s.io', 'v5.channel.k8s.io']);
const errorChannel = 3;

/** Whether this subprotocol can say why a session ends. */
export function tellsStatus(subprotocol: string): boolean {
  return statusProtocols.has(subprotocol.trim());
}

/** The Status on the error channel, then a close frame with code 1000. */
export function lastMessages(statusJson: string): Buffer {
  const payload = Buffer.concat([Buffer.from([errorChannel]), Buffer.from(statusJson)]);
  return Buffer.concat([frame(0x2, payload), frame(0x8, Buffer.from([0x03, 0xe8]))]);
}

function frame(opcode: number, payload: Buffer): Buffer {
  const head =
    payload.length < 126
      ? [0x80 | opcode, payload.length]
      : [0x80 | opcode, 126, payload.length >> 8, payload.length & 0xff];
  return Buffer.concat([Buffer.from(head), payload]);
}
