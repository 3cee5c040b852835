// Counts the steps of one CEL expression. Whoever writes an expression pays for what it costs: every part of it that is
// evaluated, every turn of a loop, and the length of the texts and lists that its functions read and make.

/** A fault of an expression. The message begins as that of cel-go does. */
export class CelFault extends Error {
  override readonly name = 'CelFault';
}

/** A fault of a pattern that is written out. OCM's agent takes it for its own fault, and the condition for unknown. */
export class ProgramFault extends CelFault {}

/** The fault for values of types that a function or operator does not take. */
export function noOverload(what?: string): CelFault {
  return new CelFault(what === undefined ? 'no such overload' : `no such overload: ${what}`);
}

/** Maximum number of steps of one expression, as Kubernetes allows one expression (PerCallLimit). */
export const mostSteps = 1_000_000;

/** Characters of a text that one step pays for. */
const charactersInStep = 10;

/** The steps that an expression may still take. */
export class Steps {
  #left = mostSteps;
  /** One error for all refusals: a loop whose every turn is refused would make many. */
  readonly #refusal = new CelFault('operation cancelled: actual cost limit exceeded');

  /** Begins to count for another expression. */
  start(most: number): void {
    this.#left = most;
  }

  /** The steps that are left; less than 0 when the expression took too many. */
  get left(): number {
    return this.#left;
  }

  /**
   * Pays for steps. Once they are used up, every further step is refused, too: `||` and `exists` go on after a fault.
   * @throws CelFault when they are used up
   */
  spend(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw this.#refusal;
  }

  /** Pays for reading or writing so many characters or bytes. */
  spendText(length: number): void {
    this.spend(Math.ceil(length / charactersInStep));
  }
}
