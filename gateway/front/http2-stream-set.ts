// The open streams of one HTTP/2 connection. Easy to get wrong: this is no Map on purpose; the tables a Map leaves behind when it makes room
// keep every request alive through V8's young collections (routing/open-streams.ts). A connection has a hundred streams at most.

/** What the set needs of a stream. */
export interface Numbered {
  readonly id: number;
  /** Where it stands in its set; written by the set alone. */
  place: number;
}

/** Streams by id, in no order. */
export class StreamSet<S extends Numbered> {
  readonly #streams: S[] = [];

  get size(): number {
    return this.#streams.length;
  }

  /** From the newest on: frames are mostly about those. */
  get(id: number): S | undefined {
    const streams = this.#streams;
    for (let i = streams.length - 1; i >= 0; i--) if (streams[i]!.id === id) return streams[i];
    return undefined;
  }

  add(stream: S): void {
    stream.place = this.#streams.length;
    this.#streams.push(stream);
  }

  delete(stream: S): void {
    const streams = this.#streams;
    if (streams[stream.place] !== stream) return;
    const last = streams.pop()!;
    if (last === stream) return;
    streams[stream.place] = last;
    last.place = stream.place;
  }

  /** A copy: streams end while somebody walks over them. */
  values(): readonly S[] {
    return [...this.#streams];
  }
}
