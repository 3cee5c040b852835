// A bounded number of seats with a fair queue in front. Users take turns, each with its own requests in order of
// arrival, so a user with few requests passes one that floods. (API Priority and Fairness does the same by shuffle
// sharding; here every user has a queue of its own.) A seat that becomes free goes to the next in turn, never to a
// request that arrives at that moment.

/** One request that waits. */
export interface Waiting {
  /** The whole user name; the request takes this user's turn. */
  readonly user: string;
  /** A seat was taken for the request. Called once, unless it was withdrawn. */
  enter(): void;
}

/** See the file comment. Every call is synchronous and costs the same however many wait. */
export class FairGate {
  readonly limit: number;
  /** Seats taken. */
  held = 0;
  /** Requests waiting. */
  waiting = 0;
  /** Requests that wait, by user, the next in turn first. Sets, because a request in the middle may leave. */
  readonly #turns = new Map<string, Set<Waiting>>();

  /** @param limit seats; Infinity for no bound */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** True when a seat is free; none is while anybody waits. */
  get open(): boolean {
    return this.held < this.limit;
  }

  /** True when nobody holds or wants a seat. */
  get idle(): boolean {
    return this.held === 0 && this.waiting === 0;
  }

  /** Puts a request at the end of its user's queue; a user who had none waiting takes the last turn. */
  wait(request: Waiting): void {
    const queue = this.#turns.get(request.user);
    if (queue === undefined) this.#turns.set(request.user, new Set([request]));
    else queue.add(request);
    this.waiting += 1;
  }

  /** Takes a waiting request out of its queue. */
  withdraw(request: Waiting): void {
    const queue = this.#turns.get(request.user);
    if (queue?.delete(request) !== true) return;
    this.waiting -= 1;
    if (queue.size === 0) this.#turns.delete(request.user);
  }

  /** Gives a seat back; the next in turn gets it. */
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
