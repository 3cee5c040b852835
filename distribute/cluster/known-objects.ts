// Remembers the objects that the gateway has applied for ManifestWorks. An unchanged object then costs no request, and
// an object that somebody else keeps changing is corrected only so often.
import type { ApplyFault } from '../apply/apply-fault.ts';
import type { Seen } from '../work/manifest-status.ts';

export interface KnownObject {
  /** Hash of everything that decides how the object is applied: manifest, settings, executor. */
  readonly taskHash: string;
  /** `resourceVersion` when the object was last read; 'absent' when it did not exist. */
  readonly version: string;
  /** Content hash of the object after it was applied; undefined if that failed. */
  readonly content: string | undefined;
  readonly fault: ApplyFault | undefined;
  readonly seen: Seen;
  /** A manifest that failed is not tried again before this time, on the clock of `performance.now()`. */
  readonly refusedUntilMs: number;
  /**
   * The object is looked at again at this time, on the same clock, even if it has not changed: it is not as it should
   * be, or rules that cost too much are evaluated again. Undefined when only a change requires that.
   */
  readonly lookAtMs?: number | undefined;
}

/** So many corrections of one object within {@link dampedMs} are made at once. The next correction has to wait. */
const freeCorrections = 3;
/** Milliseconds between the last of {@link freeCorrections} corrections and the next one. */
const dampedMs = 60_000;

export class KnownObjects {
  readonly #known = new Map<string, Map<string, KnownObject>>();
  /** When objects were last corrected, by ManifestWork and object, on the clock of `performance.now()`. */
  readonly #corrections = new Map<string, readonly number[]>();

  /**
   * Returns what is remembered of an object; undefined when the object was not yet handled with this manifest, these
   * settings and this executor.
   */
  get(work: string, key: string, taskHash: string): KnownObject | undefined {
    const known = this.#known.get(work)?.get(key);
    return known?.taskHash === taskHash ? known : undefined;
  }

  /** Returns the keys of the objects that were handled for a ManifestWork since the gateway began to execute it. */
  keysOf(work: string): ReadonlySet<string> {
    return new Set(this.#known.get(work)?.keys());
  }

  set(work: string, key: string, known: KnownObject): void {
    let objects = this.#known.get(work);
    if (objects === undefined) this.#known.set(work, (objects = new Map()));
    objects.set(key, known);
  }

  /**
   * Forgets the objects of a ManifestWork whose keys are not in `keys`, since the work does not contain them any more.
   */
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

  /** Allows those objects of a ManifestWork for which the executor lacked a right to be tried again at once. */
  retryDenied(work: string): void {
    for (const [key, known] of this.#known.get(work) ?? [])
      if (known.fault?.isDenial === true) this.set(work, key, { ...known, refusedUntilMs: 0 });
  }

  /**
   * Asks whether an object that somebody else has changed may be applied again now, and counts the correction if it
   * may.
   * @returns 0 when it may, else the milliseconds to wait
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
