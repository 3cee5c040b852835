// Places numbered without gaps, so that a user's are an array of bytes and whether a row is theirs is one look into it.
// Easy to get wrong: an array made before a place was met does not know it.
import { incarnationOf } from '../catalog.ts';
import type { Extent } from '../read/extents.ts';

export class PlaceNumbers {
  readonly #numbers = new Map<number, number>();
  readonly #places: number[] = [];

  of(place: number): number {
    let number = this.#numbers.get(place);
    if (number === undefined) this.#numbers.set(place, (number = this.#places.push(place) - 1));
    return number;
  }

  /** The place that has a number. */
  placeOf(number: number): number {
    return this.#places[number]!;
  }

  /** 1 at the number of each place that an extent has as a whole; its single objects are not in it. */
  among({ isWhole, incarnations, except, places }: Extent): Uint8Array {
    const members = new Uint8Array(this.#numbers.size);
    if (isWhole) return members.fill(1);
    const whole = new Set(incarnations);
    if (whole.size > 0) {
      for (const [place, number] of this.#numbers) {
        if (whole.has(incarnationOf(place)) && !except.has(place)) members[number] = 1;
      }
    }
    for (const place of places) {
      const number = this.#numbers.get(place);
      if (number !== undefined) members[number] = 1;
    }
    return members;
  }
}
