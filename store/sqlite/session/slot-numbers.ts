// Gives namespace slots (a namespace of one cluster) consecutive numbers from 0. So the slots that a user may see fit
// into an array with one byte for each slot, indexed by this number. Such an array has no byte for a slot that got its
// number later.
import { incarnationOf } from '../tables/catalog.ts';
import type { Extent } from './extents.ts';

export class SlotNumbers {
  readonly #numbers = new Map<number, number>();
  readonly #slots: number[] = [];

  of(slot: number): number {
    let number = this.#numbers.get(slot);
    if (number === undefined) this.#numbers.set(slot, (number = this.#slots.push(slot) - 1));
    return number;
  }

  /** The slot that has this consecutive number, which {@link SlotNumbers.of} gave. */
  slotOf(number: number): number {
    return this.#slots[number]!;
  }

  /**
   * An array with 1 at the number of each namespace slot whose rows are all in the extent (the rows that the query may
   * examine), and 0 at the others. Objects granted by name are not considered.
   */
  among({ isWhole, incarnations, except, slots }: Extent): Uint8Array {
    const members = new Uint8Array(this.#numbers.size);
    if (isWhole) return members.fill(1);
    const whole = new Set(incarnations);
    if (whole.size > 0) {
      for (const [slot, number] of this.#numbers) {
        if (whole.has(incarnationOf(slot)) && !except.has(slot)) members[number] = 1;
      }
    }
    for (const slot of slots) {
      const number = this.#numbers.get(slot);
      if (number !== undefined) members[number] = 1;
    }
    return members;
  }
}
