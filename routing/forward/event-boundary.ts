// Finds where one watch event ends and the next begins, so that a draining gateway can end a watch between two of them.
// An encoding we cannot follow has no boundary; such a watch is aborted, never ended as if complete.

/** Follows the bytes of one watch body. */
export interface EventBoundary {
  /**
   * Takes the next bytes; returns the offset just after the last event that is complete in `chunk`, or -1 when none
   * ends in it.
   */
  feed(chunk: Buffer): number;
  /** True when everything fed so far ends with a complete event (also before the first byte). */
  readonly atBoundary: boolean;
  /** Events are lines of JSON, so an ERROR event can be added. */
  readonly isText?: boolean;
}

/**
 * The boundary follower for a watch answer, or undefined when the encoding is unknown or compressed.
 * JSON watches end every event with a newline; protobuf watches frame each with its length in four bytes, big-endian
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
