// Follows WebSocket frames in one direction (RFC 6455 section 5.2) to know where messages end, and builds the final
// messages for a client of exec or attach, in the subprotocols that have a Status at their end. The final messages may
// only be sent between two messages: inside a frame, or between the fragments of a message, they would corrupt the
// stream.
import { FrameBoundary } from './event-boundary.ts';

/** Finds the ends of messages in the bytes that a server sends, however the bytes are split into chunks. */
export class MessageBoundary extends FrameBoundary {
  /** Whether the current message has further fragments. */
  #fragmented = false;

  override get atBoundary(): boolean {
    return super.atBoundary && !this.#fragmented;
  }

  /** A header has 2, 4 or 10 bytes, and 4 more when the frame is masked. */
  protected override headerLength(): number {
    if (this.headerBytes < 2) return 2;
    const length = this.header[1]! & 0x7f;
    const masked = (this.header[1]! & 0x80) === 0 ? 0 : 4;
    return masked + (length === 127 ? 10 : length === 126 ? 4 : 2);
  }

  protected override payloadLength(): number {
    const length = this.header[1]! & 0x7f;
    // Control frames may stand between the fragments of a message.
    const isControl = (this.header[0]! & 0x08) !== 0;
    if (!isControl) this.#fragmented = (this.header[0]! & 0x80) === 0;
    if (length === 127) return Number(this.header.readBigUInt64BE(2));
    return length === 126 ? this.header.readUInt16BE(2) : length;
  }
}

/**
 * Subprotocols that send a metav1.Status on channel 3 as the last message (k8s.io/apimachinery/pkg/util/remotecommand).
 */
const statusProtocols: ReadonlySet<string> = new Set(['v4.channel.k8s.io', 'v5.channel.k8s.io']);
const errorChannel = 3;

/** Whether the gateway can send the reason as a Status when it ends a session with this subprotocol. */
export function tellsStatus(subprotocol: string): boolean {
  return statusProtocols.has(subprotocol.trim());
}

/** Makes two frames: one with the Status on the error channel, and a close frame with code 1000. */
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
