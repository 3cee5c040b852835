// How many bodies one question may read for conditions that no index answers. A page that goes on by cursor ends where
// the budget is spent; every other question is refused, and the message says what to do instead. A count or facet of
// some of the rows would look complete, so those never end early.
import { GatewayError } from '../../cache/model/errors.ts';
import { typeKey, type ResourceType } from '../types.ts';
import { indexedPaths } from './indexed-paths.ts';
import type { PageRequest } from './store.ts';

/** What one question may read. */
export interface BodyLimits {
  /** At least 1; divided where many paths are read in each body. */
  readonly bodies: number;
  /** The body that reaches the limit is still read. */
  readonly bytes: number;
  /**
   * A page that may end early also ends after so many milliseconds of CPU. Questions that could only be refused are not
   * refused by time, since the same question might pass the next time.
   */
  readonly cpuMs: number;
}

/** With 5 KiB each, 20 to 50 ms of CPU, as the machine is. */
export const defaultBodyLimits: BodyLimits = { bodies: 1500, bytes: 8 << 20, cpuMs: 25 };

/** The budget of a question, and what happens when it is spent; undefined: it reads on. */
export interface BodyLooks {
  readonly budget: BodyBudget;
  readonly over: PageRequest['overBudget'];
}

/** A question would read more than it may. */
export class TooManyBodies extends GatewayError {
  constructor(message: string) {
    super('BAD_REQUEST', message);
  }
}

/** Bodies that any page may read, whatever CPU it has taken. */
const leastBodies = 256;

/** So many paths cost as much as passing over the rest of a body; a path through a list costs as much as `listCost`. */
const pathsInOne = 16;
const listCost = 8;

/** A message names so many paths and types, and so many characters of a path. */
const mostNamed = 3;
const longestNamed = 80;

export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #types: readonly ResourceType[];
  /** With how many conditions each has. */
  readonly #paths = new Map<string, number>();
  #most: number;
  #bodies = 0;
  #bytes = 0;

  constructor(types: readonly ResourceType[], limits: BodyLimits = defaultBodyLimits) {
    this.#types = types;
    this.#limits = limits;
    this.#most = limits.bodies;
  }

  /** @param paths what is read in each body, as people write them, one for each condition; may be said again */
  isFor(paths: readonly string[]): void {
    for (const [path, { length }] of Map.groupBy(paths, (one) => one)) {
      this.#paths.set(path, Math.max(length, this.#paths.get(path) ?? 0));
    }
    let cost = 0;
    for (const [path, count] of this.#paths) cost += count * (1 + listCost * (path.split('[]').length - 1));
    this.#most = Math.max(1, Math.floor(this.#limits.bodies / Math.max(1, Math.ceil(cost / pathsInOne))));
  }

  /** Whether a page that may end early has read long enough; not before {@link leastBodies}. */
  isLate(cpuMs: number): boolean {
    return cpuMs >= this.#limits.cpuMs && this.#bodies >= leastBodies;
  }

  /** Whether nothing more may be read. */
  get isSpent(): boolean {
    return this.#bodies >= this.#most || this.#bytes >= this.#limits.bytes;
  }

  /** Bodies that may still be read. */
  get left(): number {
    return Math.max(0, this.#most - this.#bodies);
  }

  /** Called before rows are read, with as many as there are at least. @throws TooManyBodies */
  expect(rows: number): void {
    if (rows > this.left) throw this.tooMany();
  }

  /** @throws TooManyBodies when it is one too many */
  read(bytes: number): void {
    if (this.isSpent) throw this.tooMany();
    this.spend(bytes);
  }

  spend(bytes: number): void {
    this.#bodies++;
    this.#bytes += bytes;
  }

  /** The error that refuses a question. */
  tooMany(): TooManyBodies {
    return new TooManyBodies(
      `${this.#why()}, and there are more than ${this.#mostText()}: narrow the query by cluster, namespace, name or label, ${this.#instead()}`,
    );
  }

  /** The same for a page that could end early and go on by cursor, if it was asked so. */
  tooManyForPage(): TooManyBodies {
    return new TooManyBodies(
      `${this.#why()}, and this page needs more than ${this.#mostText()}: leave withContinue and a decimal continue away and go on with the token of each page, narrow the query by cluster, namespace, name or label, ${this.#instead()}`,
    );
  }

  /** The warning of a page that ended early; the same on every page, so that a client shows it once. */
  endedText(): string {
    return `a page ended early and its continue token goes on behind it: ${this.#why()}, ${this.#forPage()}; narrow the query by cluster, namespace, name or label, ${this.#instead()}`;
  }

  /** The warning of a page without the count of what follows. */
  uncountedText(): string {
    return `remainingItemCount is left out: ${this.#why()}, ${this.#forPage()}`;
  }

  #forPage(): string {
    return `at most ${this.#mostText()} or ${this.#limits.cpuMs} ms of CPU for a page`;
  }

  #why(): string {
    const paths = [...this.#paths.keys()];
    const named = paths.slice(0, mostNamed).map((path) => {
      return `"${path.length > longestNamed ? `${path.slice(0, longestNamed)}…` : path}"`;
    });
    const more = paths.length > named.length ? ` and ${paths.length - named.length} more` : '';
    const verb = paths.length === 1 ? 'is' : 'are';
    return `${named.join(', ')}${more} ${verb} not indexed, so that each object has to be read`;
  }

  #mostText(): string {
    return `${this.#most} of them or ${this.#limits.bytes >> 20} MiB`;
  }

  #instead(): string {
    const named = this.#types.slice(0, mostNamed).map((type) => {
      const paths = indexedPaths(type);
      return `${typeKey(type)}: ${paths.length === 0 ? 'none' : paths.join(', ')}`;
    });
    const more = this.#types.length > named.length ? '; …' : '';
    return `or ask for a label or an indexed path (${named.join('; ')}${more})`;
  }
}
