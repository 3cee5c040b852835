// A bounded number of places, and a fair queue in front of them: users take turns, each with its own requests in order
// of arrival, so that whoever asks little passes whoever floods (API Priority and Fairness does the same by shuffle
// sharding; here every user has a queue of its own). Easy to get wrong: a place that gets free goes to the next in
// turn, never to who happens to come in that moment.

/** One request that waits. */
export interface Waiting {
  /** Whose turn it takes: the whole user name. */
  readonly user: string;
  /** A place was taken for it. Called once, unless it was withdrawn. */
  enter(): void;
}

/** See the file comment. All of it is synchronous and costs the same however many wait. */
export class FairGate {
  readonly limit: number;
  /** Places taken. */
  held = 0;
  /** Requests waiting. */
  waiting = 0;
  /** Users with something waiting, the next in turn first. Sets, because a request in the middle may leave. */
  readonly #turns = new Map<string, Set<Waiting>>();

  /** @param limit places; Infinity for no bound */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** True when a place is free; while anybody waits none is. */
  get open(): boolean {
    return this.held < this.limit;
  }

  /** True when nobody holds or wants a place. */
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

  /** Takes a waiting request out: its client has gone, or it waited too long. */
  withdraw(request: Waiting): void {
    const queue = this.#turns.get(request.user);
    if (queue?.delete(request) !== true) return;
    this.waiting -= 1;
    if (queue.size === 0) this.#turns.delete(request.user);
  }

  /** Gives a place back: the next in turn gets it. */
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
