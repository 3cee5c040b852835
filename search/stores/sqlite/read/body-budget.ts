// How much of the objects' bodies one question may read for what no index can tell. A page that goes on by cursor ends
// where that is spent, everything else is refused, with what to do instead. Easy to get wrong: an answer made of some
// of the rows would look whole, so only what says where it goes on may end.
import { GatewayError } from '../../../../cache/model/errors.ts';
import { typeKey, type ResourceType } from '../../../types.ts';
import { indexedPaths } from '../../indexed-paths.ts';
import type { PageRequest } from '../../store.ts';

/** What one question may read. */
export interface BodyLimits {
  /** At least 1; fewer where much is read in each. */
  readonly bodies: number;
  /** The body with which they are reached is still read. */
  readonly bytes: number;
  /**
   * A page that may end early does after so many milliseconds of CPU as well; what could only be refused is not, which
   * would be by chance.
   */
  readonly cpuMs: number;
}

/** With 5 KiB each, 20 to 50 ms of CPU, as the machine is. */
export const defaultBodyLimits: BodyLimits = { bodies: 1500, bytes: 8 << 20, cpuMs: 25 };

/** What a question may look into, and what happens where that is not enough; undefined: it reads on. */
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

/** Read on any page, however long it took to put its rows in order. */
const leastBodies = 256;

/** So many paths cost as much as to pass over the rest of a body; a path through a list costs as some. */
const pathsInOne = 16;
const listCost = 8;

/** As many paths, and types with their paths, are named; of a path so many characters. */
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

  /** Whether a page that may end early has read for so long; not before it has got on. */
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

  /** Before rows are read: as many as it is sure there are. @throws TooManyBodies */
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

  /** What to refuse a question with. */
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

  /** For a page that ended; the same on every page of a list, so that a client that shows a text once does. */
  endedText(): string {
    return `a page ended early and its continue token goes on behind it: ${this.#why()}, ${this.#forPage()}; narrow the query by cluster, namespace, name or label, ${this.#instead()}`;
  }

  /** For a page without the count of what follows. */
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
