// Limits how many bodies (the JSON of stored objects) one question may read for conditions that no index answers. A
// page that can be continued by a cursor ends early when the budget is used up. Any other question is refused with a
// message that says what to do instead, because a count or facet over a part of the rows would look complete.
import { listed } from '../lib/text/listed.ts';
import { GatewayError } from '../model/errors.ts';
import { typeKey, type ResourceType } from '../query/types.ts';
import { indexedPaths } from './indexed-paths.ts';
import type { PageRequest } from './store.ts';
import { shortened } from '../lib/text/shortened.ts';

/** The limits of what one question may read. */
export interface BodyLimits {
  /** The most bodies, at least 1. When many paths are read in each body, fewer bodies are allowed. */
  readonly bodies: number;
  /** The most bytes of all bodies together. The body that reaches this limit is still read. */
  readonly bytes: number;
  /**
   * Milliseconds of CPU time after which a page ends early, if its client accepts shorter pages. Other questions have
   * no limit of time: they could only be refused, and then the same question would be refused at one time and answered
   * at another.
   */
  readonly cpuMs: number;
}

/**
 * The limits that apply when a store is given none. Reading 1,500 bodies of 5 KiB takes 20 to 50 ms of CPU time,
 * depending on the machine.
 */
export const defaultBodyLimits: BodyLimits = { bodies: 1500, bytes: 8 << 20, cpuMs: 25 };

/**
 * The budget of a question, and what happens when the budget is used up (`over`). Without `over` the question reads as
 * many bodies as it needs.
 */
export interface BodyAllowance {
  readonly budget: BodyBudget;
  readonly over: PageRequest['overBudget'];
}

/** The error of a question that would have to read more bodies than it may. */
export class TooManyBodies extends GatewayError {
  constructor(message: string) {
    super('BAD_REQUEST', message);
  }
}

/** The number of bodies that a page may read in any case, even when its CPU time is used up. */
const leastBodies = 256;

/**
 * Conditions on 16 paths cost as much as parsing one body, and each `[]` in a path costs as much as 8 paths more. The
 * number of bodies that a question may read is divided by this cost.
 */
const pathsInOne = 16;
const listCost = 8;

/**
 * Limits for messages about too many bodies: how many paths and types are named, and how many characters of a path are
 * shown.
 */
const mostNamed = 3;
const longestNamed = 80;

export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #types: readonly ResourceType[];
  /** The paths that are read, each with the number of conditions on it. */
  readonly #paths = new Map<string, number>();
  #most: number;
  #bodies = 0;
  #bytes = 0;

  constructor(types: readonly ResourceType[], limits: BodyLimits = defaultBodyLimits) {
    this.#types = types;
    this.#limits = limits;
    this.#most = limits.bodies;
  }

  /**
   * Sets which paths are read in each body. Many paths lower the number of bodies allowed. Can be called several times;
   * then the paths of all calls are read.
   * @param paths as users write them, one for each condition
   */
  isFor(paths: readonly string[]): void {
    for (const [path, { length }] of Map.groupBy(paths, (one) => one)) {
      this.#paths.set(path, Math.max(length, this.#paths.get(path) ?? 0));
    }
    let cost = 0;
    for (const [path, count] of this.#paths) cost += count * (1 + listCost * (path.split('[]').length - 1));
    this.#most = Math.max(1, Math.floor(this.#limits.bodies / Math.max(1, Math.ceil(cost / pathsInOne))));
  }

  /** Whether a page that may end early has used its CPU time. False until {@link leastBodies} bodies were read. */
  isLate(cpuMs: number): boolean {
    return cpuMs >= this.#limits.cpuMs && this.#bodies >= leastBodies;
  }

  /** True when the budget is used up, so no more bodies may be read. */
  get isSpent(): boolean {
    return this.#bodies >= this.#most || this.#bytes >= this.#limits.bytes;
  }

  /** How many bodies may still be read. */
  get left(): number {
    return Math.max(0, this.#most - this.#bodies);
  }

  /**
   * Checks before reading that a question stays within its budget.
   * @param rows the least number of bodies that will be read
   * @throws TooManyBodies when fewer bodies are left
   */
  expect(rows: number): void {
    if (rows > this.left) throw this.tooMany();
  }

  /**
   * Counts one body against the budget.
   * @throws TooManyBodies when the budget is already used up
   */
  read(bytes: number): void {
    if (this.isSpent) throw this.tooMany();
    this.spend(bytes);
  }

  spend(bytes: number): void {
    this.#bodies++;
    this.#bytes += bytes;
  }

  /** The error that refuses a question which would have to read too many bodies. */
  tooMany(): TooManyBodies {
    return new TooManyBodies(
      `${this.#why()}, and there are more than ${this.#mostText()}: narrow the query by cluster, namespace, name or label, ${this.#instead()}`,
    );
  }

  /** The error that refuses a page which could have ended early, had the client asked for continue tokens. */
  tooManyForPage(): TooManyBodies {
    return new TooManyBodies(
      `${this.#why()}, and this page needs more than ${this.#mostText()}: do not use withContinue or a number in continue=, but the continue token of each page, narrow the query by cluster, namespace, name or label, ${this.#instead()}`,
    );
  }

  /** The warning for a page that ended early. All pages have the same text, so that a client shows it once. */
  endedText(): string {
    return `a page ended early and its continue token goes on behind it: ${this.#why()}, ${this.#forPage()}; narrow the query by cluster, namespace, name or label, ${this.#instead()}`;
  }

  /** The warning for a page that does not say how many rows remain, because counting would exceed the budget. */
  uncountedText(): string {
    return `remainingItemCount is left out: ${this.#why()}, ${this.#forPage()}`;
  }

  #forPage(): string {
    return `at most ${this.#mostText()} or ${this.#limits.cpuMs} ms of CPU for a page`;
  }

  #why(): string {
    const paths = [...this.#paths.keys()].map((path) => `"${shortened(path, longestNamed)}"`);
    const verb = paths.length === 1 ? 'is' : 'are';
    return `${listed(paths, mostNamed)} ${verb} not indexed, so that each object has to be read`;
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
