// The open streams of one HTTP/2 connection, a hundred at most. It is no Map, for the reason http/slot-set.ts gives.
import { SlotSet } from '../slot-set.ts';
import type { InSlot } from '../slot-set.ts';

/** Streams by id. */
export class StreamSet<S extends InSlot & { readonly id: number }> extends SlotSet<S> {
  /** From the newest on: frames are mostly about those. */
  get(id: number): S | undefined {
    const streams = this.entries;
    for (let i = streams.length - 1; i >= 0; i--) if (streams[i]!.id === id) return streams[i];
    return undefined;
  }
}
