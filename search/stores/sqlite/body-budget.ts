// How much of the objects' bodies one question may read for what no index can tell. A page that goes on by cursor ends where that is spent, everything else
// is refused, with what to do instead. Easy to get wrong: an answer made of some of the rows would look whole, so only what says where it goes on may end.
import { GatewayError } from '../../../cache/errors.ts';
import { typeKey, type ResourceType } from '../../types.ts';
import { indexedPaths } from '../indexed-paths.ts';
import type { PageRequest } from '../store.ts';

/** What one question may read; both at least 1. */
export interface BodyLimits {
  readonly bodies: number;
  readonly bytes: number;
}

/** With 5 KiB each, 20 to 50 ms of CPU, as the machine is. */
export const defaultBodyLimits: BodyLimits = { bodies: 1500, bytes: 8 << 20 };

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

/** As many paths, and types with their paths, are named; of a path so many characters. */
const mostNamed = 3;
const longestNamed = 80;

export class BodyBudget {
  readonly limits: BodyLimits;
  readonly #types: readonly ResourceType[];
  readonly #paths = new Set<string>();
  #bodies = 0;
  #bytes = 0;

  constructor(types: readonly ResourceType[], limits: BodyLimits = defaultBodyLimits) {
    this.#types = types;
    this.limits = limits;
  }

  /** @param paths why bodies are read, as people write them: to be named where it is too much */
  isFor(paths: readonly string[]): void {
    for (const path of paths) this.#paths.add(path);
  }

  /** Whether nothing more may be read. */
  get isSpent(): boolean {
    return this.#bodies >= this.limits.bodies || this.#bytes >= this.limits.bytes;
  }

  /** Bodies that may still be read. */
  get left(): number {
    return Math.max(0, this.limits.bodies - this.#bodies);
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
      `${this.#why()}, and there are more than ${this.#most()}: narrow the query by cluster, namespace, name or label, ${this.#instead()}`,
    );
  }

  /** The same for a page that could end early and go on by cursor, if it was asked so. */
  tooManyForPage(): TooManyBodies {
    return new TooManyBodies(
      `${this.#why()}, and this page needs more than ${this.#most()}: leave withContinue and a decimal continue away and go on with the token of each page, narrow the query by cluster, namespace, name or label, ${this.#instead()}`,
    );
  }

  /** For a page that ended; the same on every page of a list, so that a client that shows a text once does. */
  endedText(): string {
    return `a page ended early and its continue token goes on behind it: ${this.#why()}, at most ${this.#most()} for a page; narrow the query by cluster, namespace, name or label, ${this.#instead()}`;
  }

  /** For a page without the count of what follows. */
  uncountedText(): string {
    return `remainingItemCount is left out: ${this.#why()}, and there are more than ${this.#most()}`;
  }

  #why(): string {
    const paths = [...this.#paths];
    const named = paths.slice(0, mostNamed).map((path) => {
      return `"${path.length > longestNamed ? `${path.slice(0, longestNamed)}…` : path}"`;
    });
    const more = paths.length > named.length ? ` and ${paths.length - named.length} more` : '';
    const verb = paths.length === 1 ? 'is' : 'are';
    return `${named.join(', ')}${more} ${verb} not indexed, so that each object has to be read`;
  }

  #most(): string {
    const { bodies, bytes } = this.limits;
    return `${bodies} of them or ${bytes >> 20} MiB`;
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
