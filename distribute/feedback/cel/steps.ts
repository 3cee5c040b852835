// Counts the steps of one CEL expression, as a measure of its CPU time: every evaluated node, every turn of a loop, and
// the length of the texts and lists that its functions read and make. An expression that takes too many steps is ended.

/** A fault of an expression. The message begins as that of cel-go does. */
export class CelFault extends Error {
  override readonly name = 'CelFault';
}

/**
 * An error in a pattern that the expression has as a literal. OCM's agent treats it as an error of its own, so the
 * condition becomes Unknown.
 */
export class ProgramFault extends CelFault {}

/** The error for arguments or operands of types that a function or operator does not accept. */
export function noOverload(what?: string): CelFault {
  return new CelFault(what === undefined ? 'no such overload' : `no such overload: ${what}`);
}

/** Maximum number of steps of one expression, as Kubernetes allows one expression (PerCallLimit). */
export const mostSteps = 1_000_000;

/** How many characters of a text count as one step. */
const charactersInStep = 10;

/** Counts the steps that the running expression may still take. */
export class Steps {
  #left = mostSteps;
  /**
   * The error for too many steps. One instance is thrown again and again, since a loop may swallow it in every turn and
   * new instances would be slow.
   */
  readonly #refusal = new CelFault('operation cancelled: actual cost limit exceeded');

  /** Starts counting for another expression, which may take `most` steps. */
  start(most: number): void {
    this.#left = most;
  }

  /** The steps that are left; less than 0 when the expression took too many. */
  get left(): number {
    return this.#left;
  }

  /**
   * Counts steps. Once the limit is exceeded, every further call throws too, since `||` and `exists` swallow an error
   * and go on.
   * @throws CelFault when they are used up
   */
  spend(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw this.#refusal;
  }

  /** Counts the steps for reading or writing this many characters or bytes. */
  spendText(length: number): void {
    this.spend(Math.ceil(length / charactersInStep));
  }
}
