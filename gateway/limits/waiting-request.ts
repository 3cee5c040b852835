// A short request that takes a slot at each of several gates (user, cluster, gateway), one after the other, and waits
// where no slot is free. It frees all its slots when its exchange ends, its client goes away or it has waited too long.
import type { GatewayError } from '../../model/errors.ts';
import type { FairGate, Waiting } from './fair-gate.ts';

/** Result of waiting for a slot when the client went away first. */
export const gone = Symbol('gone');

/** Options of {@link WaitingRequest}. */
export interface WaitingRequestOptions {
  /** Full name of the user who sent the request. */
  readonly user: string;
  /** The gates at which the request needs a slot, in the order in which it takes them. */
  readonly gates: readonly FairGate[];
  readonly timeoutMs: number;
  /** Called once when the request no longer waits: it has all its slots, its client went away or it waited too long. */
  readonly onSettled: () => void;
  /** Makes the error for a request that has waited too long. */
  readonly timedOut: () => GatewayError;
}

/** A request that waits for a slot at each of several gates. */
export class WaitingRequest implements Waiting {
  readonly user: string;
  readonly #options: WaitingRequestOptions;
  readonly #turn = Promise.withResolvers<undefined | typeof gone>();
  readonly #timer: NodeJS.Timeout;
  /** Number of gates, from the first on, at which the request has a slot. */
  #taken = 0;
  #settled = false;

  constructor(options: WaitingRequestOptions) {
    this.user = options.user;
    this.#options = options;
    this.#timer = setTimeout(() => {
      this.#withdraw();
      this.#turn.reject(options.timedOut());
    }, options.timeoutMs).unref();
  }

  /**
   * Resolves with undefined when the request has all its slots, or with {@link gone} when its client went away. Rejects
   * when the request has waited too long.
   */
  get turn(): Promise<undefined | typeof gone> {
    return this.#turn.promise;
  }

  /** Takes a slot at one gate after the other, and waits at the first gate that has no free slot. */
  start(): void {
    const { gates } = this.#options;
    while (this.#taken < gates.length) {
      const gate = gates[this.#taken]!;
      if (!gate.open) {
        gate.wait(this);
        return;
      }
      gate.held += 1;
      this.#taken += 1;
    }
    this.#settle();
    this.#turn.resolve(undefined);
  }

  /** Called by a gate that has passed a slot to this request. The gate has already counted the slot as in use. */
  enter(): void {
    this.#taken += 1;
    this.start();
  }

  /** Must be called when the request has ended, or when its client went away while the request waited. */
  close(): void {
    if (this.#settled) {
      this.#giveBack();
      return;
    }
    this.#withdraw();
    this.#turn.resolve(gone);
  }

  #withdraw(): void {
    this.#options.gates[this.#taken]?.withdraw(this);
    this.#settle();
    this.#giveBack();
  }

  #settle(): void {
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#options.onSettled();
  }

  /**
   * The slot at the last gate, that of the whole gateway, is freed first: the request that takes it has all its other
   * slots already and can run at once.
   */
  #giveBack(): void {
    const { gates } = this.#options;
    for (let i = this.#taken - 1; i >= 0; i--) gates[i]!.leave();
    this.#taken = 0;
  }
}
