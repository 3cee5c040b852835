// Numbers namespace slots without gaps. The slots that a user may see then fit into an array with one byte a slot, and
// one index finds the byte for a row. An array that was made before a slot was added has no byte for it.
import { incarnationOf } from '../catalog.ts';
import type { Extent } from '../read/extents.ts';

export class SlotNumbers {
  readonly #numbers = new Map<number, number>();
  readonly #slots: number[] = [];

  of(slot: number): number {
    let number = this.#numbers.get(slot);
    if (number === undefined) this.#numbers.set(slot, (number = this.#slots.push(slot) - 1));
    return number;
  }

  /** The slot that has a number. */
  slotOf(number: number): number {
    return this.#slots[number]!;
  }

  /** 1 at the number of each slot that an extent has as a whole, without its single objects. */
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
