// Finds the ends of watch events in the bytes of an answer, so that a draining gateway can end a watch between two
// events. In an unknown encoding the ends cannot be found; such a watch is cut, so that the client does not take it for
// complete.

/** Follows the bytes of one watch and knows where events end. */
export interface EventBoundary {
  /** Reads the next bytes. Returns the offset after the last event that ends in `chunk`, or -1 when none does. */
  feed(chunk: Buffer): number;
  /** Whether the bytes read so far end with a complete event. True before the first byte. */
  readonly atBoundary: boolean;
  /** True when events are lines of JSON, so that an ERROR event can be appended. */
  readonly isText?: boolean;
}

/**
 * Makes the boundary finder for a watch answer; undefined when the encoding is unknown or compressed. A JSON event ends
 * with a newline; a protobuf event begins with its length in four bytes, big-endian
 * (k8s.io/apimachinery/pkg/util/framer and runtime/serializer/protobuf).
 */
export function eventBoundary(contentType: string, contentEncoding: string): EventBoundary | undefined {
  if (contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity') return undefined;
  const mediaType = contentType.split(';', 1)[0]!.trim().toLowerCase();
  if (mediaType === 'application/json') return new LineBoundary();
  if (mediaType === 'application/vnd.kubernetes.protobuf') return new LengthBoundary();
  return undefined;
}

const newline = 0x0a;

class LineBoundary implements EventBoundary {
  readonly isText = true;
  atBoundary = true;

  feed(chunk: Buffer): number {
    if (chunk.length === 0) return -1;
    this.atBoundary = chunk[chunk.length - 1] === newline;
    return chunk.lastIndexOf(newline) + 1 || -1;
  }
}

/** Finds the ends of frames that begin with a header, which contains the length of the rest of the frame. */
export abstract class FrameBoundary implements EventBoundary {
  /** Bytes of the current frame header. A WebSocket header is the longest, with up to 14 bytes. */
  protected readonly header = Buffer.alloc(14);
  protected headerBytes = 0;
  #payloadLeft = 0;

  get atBoundary(): boolean {
    return this.headerBytes === 0 && this.#payloadLeft === 0;
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
        this.header[this.headerBytes++] = chunk[at++]!;
        if (this.headerBytes < this.headerLength()) continue;
        this.#payloadLeft = this.payloadLength();
        this.headerBytes = 0;
      }
      if (this.atBoundary) last = at;
    }
    return last;
  }

  /** Returns the length of the frame header in bytes, as far as it is known from the bytes that were read. */
  protected abstract headerLength(): number;
  /** Returns the length of the frame's payload in bytes. Called once for each header, when the header is complete. */
  protected abstract payloadLength(): number;
}

class LengthBoundary extends FrameBoundary {
  protected override headerLength(): number {
    return 4;
  }

  protected override payloadLength(): number {
    return this.header.readUInt32BE(0);
  }
}
