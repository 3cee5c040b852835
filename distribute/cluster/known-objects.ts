// What the executor remembers of objects that it applied, so that an object at rest costs no request, and one that
// somebody changes again and again is not fought over.
import type { ApplyFault } from '../apply/apply-fault.ts';
import type { Seen } from '../work/manifest-status.ts';

export interface KnownObject {
  /** Hash of everything the object was applied by: manifest, settings, executor. */
  readonly taskHash: string;
  /** `resourceVersion` when the object was seen last; 'absent' when there was none. */
  readonly version: string;
  /** Content hash after it was applied; undefined while it was not. */
  readonly content: string | undefined;
  readonly fault: ApplyFault | undefined;
  readonly seen: Seen;
  /** Until then a refused manifest is not tried again; on the clock of `performance.now()`. */
  readonly refusedUntilMs: number;
}

/** Corrections of one object within {@link dampedMs} after which the next one has to wait. */
const freeCorrections = 3;
/** How long then. */
const dampedMs = 60_000;

export class KnownObjects {
  readonly #known = new Map<string, Map<string, KnownObject>>();
  /** Times of corrections, by work and object. */
  readonly #corrections = new Map<string, readonly number[]>();

  /** Undefined when the object was never applied so. */
  get(work: string, key: string, taskHash: string): KnownObject | undefined {
    const known = this.#known.get(work)?.get(key);
    return known?.taskHash === taskHash ? known : undefined;
  }

  set(work: string, key: string, known: KnownObject): void {
    let objects = this.#known.get(work);
    if (objects === undefined) this.#known.set(work, (objects = new Map()));
    objects.set(key, known);
  }

  /** Forgets objects that are not part of the work any more. */
  keepOnly(work: string, keys: ReadonlySet<string>): void {
    for (const key of this.#known.get(work)?.keys() ?? []) if (!keys.has(key)) this.#known.get(work)!.delete(key);
    const prefix = correctionKey(work, '');
    for (const key of this.#corrections.keys())
      if (key.startsWith(prefix) && !keys.has(key.slice(prefix.length))) this.#corrections.delete(key);
  }

  forget(work: string): void {
    this.keepOnly(work, new Set());
    this.#known.delete(work);
  }

  /**
   * Asks to put an object right that somebody changed.
   * @returns 0 when it may be done now, else the milliseconds to wait
   */
  correct(work: string, key: string, nowMs: number): number {
    const name = correctionKey(work, key);
    const recent = (this.#corrections.get(name) ?? []).filter((atMs) => nowMs - atMs < dampedMs);
    if (recent.length >= freeCorrections) return Math.ceil(recent.at(-1)! + dampedMs - nowMs);
    this.#corrections.set(name, [...recent, nowMs]);
    return 0;
  }
}

function correctionKey(work: string, key: string): string {
  return `${work} ${key}`;
}
