// The open streams of one HTTP/2 connection, a hundred at most. Easy to get wrong: no Map, for the reason routing/placed-set.ts gives.
import { PlacedSet } from '../../routing/placed-set.ts';
import type { Placed } from '../../routing/placed-set.ts';

/** Streams by id. */
export class StreamSet<S extends Placed & { readonly id: number }> extends PlacedSet<S> {
  /** From the newest on: frames are mostly about those. */
  get(id: number): S | undefined {
    const streams = this.entries;
    for (let i = streams.length - 1; i >= 0; i--) if (streams[i]!.id === id) return streams[i];
    return undefined;
  }
}
