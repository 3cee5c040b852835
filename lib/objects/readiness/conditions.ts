// The conditions of an object or of a part of it, by type. Whether a condition is about another generation, or
// contradicts another condition of its type, is checked only when it is asked for: such faults in conditions that
// nobody asks for do not matter.
import { isJsonObject, type JsonObject } from '../json-object.ts';
import { generationAt, textOf, type Place } from './fields.ts';
import { Unreadable } from './verdict.ts';

interface Entry {
  readonly path: string;
  readonly condition: JsonObject;
  readonly generation: bigint | undefined;
  /** Whether another condition of this type has another status or reason. */
  isContradicted: boolean;
}

/** The conditions of an object, or of an item of a list in it. */
export class Conditions {
  readonly #entries = new Map<string, Entry>();
  readonly #path: string;
  readonly #generation: bigint | undefined;
  /** The highest `observedGeneration` of the conditions; undefined when none has one. */
  readonly newest: bigint | undefined;

  /**
   * @param place has the conditions in its field `conditions`
   * @param generation metadata.generation of the object
   * @throws Unreadable when they are no list of conditions
   */
  constructor(place: Place, generation: bigint | undefined) {
    this.#path = `${place.path}.conditions`;
    this.#generation = generation;
    const list = 'conditions' in place.value ? place.value['conditions'] : [];
    if (!Array.isArray(list)) throw new Unreadable(`${this.#path} is not a list`);
    let newest: bigint | undefined;
    for (const [index, condition] of (list as readonly unknown[]).entries()) {
      const path = `${this.#path}[${index}]`;
      if (!isJsonObject(condition)) throw new Unreadable(`${path} is not an object`);
      if (typeof condition['type'] !== 'string') throw new Unreadable(`${path}.type is not a text`);
      if (typeof condition['status'] !== 'string') throw new Unreadable(`${path}.status is not a text`);
      const made = generationAt({ path, value: condition }, 'observedGeneration');
      if (made !== undefined && (newest === undefined || made > newest)) newest = made;
      this.#add({ path, condition, generation: made, isContradicted: false });
    }
    this.newest = newest;
  }

  /**
   * The condition of a type; undefined when there is none.
   * @throws Unreadable when the condition is about another generation of the object, or when two conditions of the type
   *   differ
   */
  get(type: string): JsonObject | undefined {
    const entry = this.#entries.get(type);
    if (entry === undefined) return undefined;
    const { path, condition, generation, isContradicted } = entry;
    if (isContradicted) throw new Unreadable(`${this.#path} has two conditions ${type} that differ`);
    if (generation === undefined || this.#generation === undefined || generation === this.#generation) return condition;
    if (generation > this.#generation) {
      throw new Unreadable(`${path}.observedGeneration ${generation} is beyond metadata.generation`);
    }
    throw new Unreadable(`${type} is of generation ${generation}, not of ${this.#generation}`);
  }

  /** Whether there is a condition of the type with status True. */
  isTrue(type: string): boolean {
    return this.get(type)?.['status'] === 'True';
  }

  /** Whether the condition of a type has an `observedGeneration`. */
  isDated(type: string): boolean {
    return this.#entries.get(type)?.generation !== undefined;
  }

  /** Reason and message of the condition of a type. */
  text(type: string): string {
    return textOf(this.get(type) ?? {});
  }

  /** Why the condition of a type is not True, as a text; undefined when it is True. */
  fault(type: string): string | undefined {
    const condition = this.get(type);
    if (condition === undefined) return `has no condition ${type} yet`;
    return condition['status'] === 'True' ? undefined : `${type} is not True: ${textOf(condition)}`;
  }

  /** The types of all conditions. */
  types(): Iterable<string> {
    return this.#entries.keys();
  }

  #add(entry: Entry): void {
    const type = entry.condition['type'] as string;
    const before = this.#entries.get(type);
    if (before === undefined) this.#entries.set(type, entry);
    else if (['status', 'reason'].some((field) => before.condition[field] !== entry.condition[field])) {
      before.isContradicted = true;
    }
  }
}
