// Limits how many requests run at the same time, with a fair queue for those that wait. Users take turns, and the
// requests of one user keep their order, so a user with few requests overtakes a user who sends many. (API Priority and
// Fairness of Kubernetes does this by shuffle sharding; here every user has a queue.) A slot that becomes free goes to
// the next request in the queue, never to one that has just arrived.

/** One request that waits for a slot. */
export interface Waiting {
  /** The user's full name. Waiting requests with the same name share a queue. */
  readonly user: string;
  /** Called once when a slot has been taken for the request; not called after `withdraw`. */
  enter(): void;
}

/**
 * Limits how many requests run at once; further requests wait in fair queues. All methods are synchronous, and their
 * cost does not grow with the number of waiting requests.
 */
export class FairGate {
  readonly limit: number;
  /** Number of slots in use. */
  held = 0;
  /** Number of requests that wait for a slot. */
  waiting = 0;
  /**
   * The queue of each user with waiting requests; the user who gets the next free slot comes first. The queues are
   * Sets, because a request may leave from the middle of a queue.
   */
  readonly #turns = new Map<string, Set<Waiting>>();

  /** @param limit number of slots; Infinity for no limit */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** True when a slot is free. While requests wait, no slot is free, so this is false. */
  get open(): boolean {
    return this.held < this.limit;
  }

  /** True when no slot is in use and nobody waits. */
  get idle(): boolean {
    return this.held === 0 && this.waiting === 0;
  }

  /**
   * Puts a request at the end of its user's queue. A user who had no waiting requests comes after all users who have.
   */
  wait(request: Waiting): void {
    const queue = this.#turns.get(request.user);
    if (queue === undefined) this.#turns.set(request.user, new Set([request]));
    else queue.add(request);
    this.waiting += 1;
  }

  /** Takes a request out of the queue in which it waits. */
  withdraw(request: Waiting): void {
    const queue = this.#turns.get(request.user);
    if (queue?.delete(request) !== true) return;
    this.waiting -= 1;
    if (queue.size === 0) this.#turns.delete(request.user);
  }

  /** Frees a slot. If requests wait, the next in turn takes the slot. */
  leave(): void {
    for (const [user, queue] of this.#turns) {
      for (const next of queue) {
        queue.delete(next);
        this.waiting -= 1;
        this.#turns.delete(user);
        if (queue.size > 0) this.#turns.set(user, queue);
        next.enter();
        return;
      }
    }
    this.held -= 1;
  }
}
