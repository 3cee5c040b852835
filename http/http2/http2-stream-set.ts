// The open streams of one HTTP/2 connection; lib/limits.ts says how many. It is not a Map, for the reason given in
// http/slot-set.ts.
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
