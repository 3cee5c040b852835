// A request that waits for its seats: it takes them one gate after another and gives them all back when its exchange is
// over, when its client goes away or when the wait was too long.
import type { GatewayError } from '../../cache/model/errors.ts';
import type { FairGate, Waiting } from './fair-gate.ts';

/** The client went away before its turn came. */
export const gone = Symbol('gone');

/** What a waiting request needs to know. */
export interface WaitingRequestOptions {
  /** The whole user name. */
  readonly user: string;
  /** The gates to pass, in this order. */
  readonly gates: readonly FairGate[];
  readonly timeoutMs: number;
  /** Called once, when the request waits no longer, whatever the reason. */
  readonly onSettled: () => void;
  /** Makes the error of a wait that was too long. */
  readonly timedOut: () => GatewayError;
}

/** See the file comment. */
export class WaitingRequest implements Waiting {
  readonly user: string;
  readonly #options: WaitingRequestOptions;
  readonly #turn = Promise.withResolvers<undefined | typeof gone>();
  readonly #timer: NodeJS.Timeout;
  /** Gates whose seat the request holds, counted from the first. */
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

  /** Resolves when all seats are taken, or with {@link gone}. Rejects when the wait was too long. */
  get turn(): Promise<undefined | typeof gone> {
    return this.#turn.promise;
  }

  /** Takes what is free and waits at the first gate that is full. */
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

  /** A gate handed its seat over and counts it as held already. */
  enter(): void {
    this.#taken += 1;
    this.start();
  }

  /** The exchange is over, or the client went away while the request waited. */
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

  /** The last gate comes first: the request that gets the gateway's seat then may need none of the others. */
  #giveBack(): void {
    const { gates } = this.#options;
    for (let i = this.#taken - 1; i >= 0; i--) gates[i]!.leave();
    this.#taken = 0;
  }
}
