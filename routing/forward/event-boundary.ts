// Finds the ends of watch events in the bytes of an answer, so that a draining gateway can end a watch between two
// events. For an unknown encoding there are no known event ends; such a watch is cut off, so that the client does not
// take it for complete.

/** Follows the bytes of one watch. */
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

class LengthBoundary implements EventBoundary {
  #header = 0;
  #headerBytes = 0;
  #remaining = 0;

  get atBoundary(): boolean {
    return this.#headerBytes === 0 && this.#remaining === 0;
  }

  feed(chunk: Buffer): number {
    let last = -1;
    let at = 0;
    while (at < chunk.length) {
      if (this.#remaining > 0) {
        const taken = Math.min(this.#remaining, chunk.length - at);
        this.#remaining -= taken;
        at += taken;
      } else {
        this.#header = this.#header * 256 + chunk[at]!;
        at += 1;
        this.#headerBytes += 1;
        if (this.#headerBytes < 4) continue;
        this.#remaining = this.#header;
        this.#header = 0;
        this.#headerBytes = 0;
      }
      if (this.atBoundary) last = at;
    }
    return last;
  }
}
