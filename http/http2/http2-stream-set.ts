// The open streams of one HTTP/2 connection, at most `maxClientStreams` of lib/limits.ts. A SlotSet is used in place of
// a Map, because V8 frees the old tables of a growing Map late (see http/slot-set.ts).
import { SlotSet } from '../slot-set.ts';
import type { InSlot } from '../slot-set.ts';

/** A set of streams that can be searched by id. */
export class StreamSet<S extends InSlot & { readonly id: number }> extends SlotSet<S> {
  /** Searches from the newest stream backwards, because most frames belong to the newest streams. */
  get(id: number): S | undefined {
    const streams = this.entries;
    for (let i = streams.length - 1; i >= 0; i--) if (streams[i]!.id === id) return streams[i];
    return undefined;
  }
}
