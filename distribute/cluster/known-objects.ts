// Remembers the objects that the gateway has applied for ManifestWorks. An unchanged object then costs no request, and
// an object that somebody else keeps changing is corrected only so often.
import type { ApplyFault } from '../apply/apply-fault.ts';
import type { Seen } from '../work/work-status.ts';

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
   * The object is read again at this time, on the same clock, even if it has not changed: it differs from its manifest,
   * or condition rules that cost too much are evaluated again. Undefined when only a change requires that.
   */
  readonly lookAtMs?: number | undefined;
  /** Times of the last corrections of the object, on the same clock. */
  readonly corrections: number[];
}

/** Maximum number of corrections of one object within {@link dampedMs} that are made without waiting. */
const freeCorrections = 3;
/** Milliseconds between the last of {@link freeCorrections} corrections and the next one. */
const dampedMs = 60_000;

export class KnownObjects {
  readonly #works = new Map<string, Map<string, KnownObject>>();

  /** Returns the remembered objects of a ManifestWork by their keys. The caller adds and removes entries of the map. */
  of(work: string): Map<string, KnownObject> {
    let objects = this.#works.get(work);
    if (objects === undefined) this.#works.set(work, (objects = new Map()));
    return objects;
  }

  forget(work: string): void {
    this.#works.delete(work);
  }

  /** Lets objects of a ManifestWork be tried again at once that failed because the executor had no right to them. */
  retryDenied(work: string): void {
    for (const [key, known] of this.of(work))
      if (known.fault?.isDenial === true) this.of(work).set(key, { ...known, refusedUntilMs: 0 });
  }
}

/**
 * Asks whether an object that somebody else has changed may be applied again now, and counts the correction if it may.
 * @returns 0 when it may, else the milliseconds to wait
 */
export function correct({ corrections }: Pick<KnownObject, 'corrections'>, nowMs: number): number {
  const recent = corrections.filter((atMs) => nowMs - atMs < dampedMs);
  if (recent.length >= freeCorrections) return Math.ceil(recent.at(-1)! + dampedMs - nowMs);
  corrections.splice(0, Infinity, ...recent, nowMs);
  return 0;
}
