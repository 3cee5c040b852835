// Runs a request through the steps of a chain. The types make the compiler check that the steps fit together.
import type { Arrival } from '../http/arrival.ts';
import type { ChainDependencies } from './steps/chain-dependencies.ts';
import { answered } from './steps/step.ts';
import type { Step } from './steps/step.ts';

/** A step of a chain whose types {@link linked} has checked. */
export type AnyStep = Step<never, unknown>;

/**
 * Makes a chain of thirteen or fourteen steps. It compiles only when each step takes the type that the step before it
 * returns.
 */
export function linked<A, B, C, D, E, F, G, H, I, J, K, L, M>(
  ...steps: [
    Step<Arrival, A>,
    Step<A, B>,
    Step<B, C>,
    Step<C, D>,
    Step<D, E>,
    Step<E, F>,
    Step<F, G>,
    Step<G, H>,
    Step<H, I>,
    Step<I, J>,
    Step<J, K>,
    Step<K, L>,
    Step<L, M>,
    Step<M, never>?,
  ]
): readonly AnyStep[] {
  return steps.filter((step) => step !== undefined);
}

/**
 * Runs a request through a chain; never throws. Returns after the last step, or when a step returns a promise: the
 * steps after it then run when the promise resolves.
 */
export function run(steps: readonly AnyStep[], arrival: Arrival, dependencies: ChainDependencies): void {
  runFrom(0, arrival, steps, arrival, dependencies);
}

/**
 * Runs the steps of a chain from index `first` on. It makes no promise unless a step returns one, because most requests
 * need none and promises cost time.
 */
function runFrom(
  first: number,
  from: unknown,
  steps: readonly AnyStep[],
  arrival: Arrival,
  dependencies: ChainDependencies,
): void {
  let state = from;
  try {
    for (let i = first; i < steps.length; i++) {
      const result: unknown = steps[i]!(state as never, dependencies);
      if (result instanceof Promise) {
        const before = state;
        result.then(
          (later: unknown) => later === answered || runFrom(i + 1, later, steps, arrival, dependencies),
          (error: unknown) => failState(before, arrival, error),
        );
        return;
      }
      if (result === answered) return;
      state = result;
    }
  } catch (error) {
    failState(state, arrival, error);
  }
}

/**
 * Answers with the error through the function `fail`, which the step `recover` has added to the state. Before `recover`
 * has run there is no `fail`, and the connection is cut.
 */
function failState(state: unknown, arrival: Arrival, error: unknown): void {
  const { fail } = state as { fail?: (error: unknown) => void };
  if (fail === undefined) arrival.inbound.abort();
  else fail(error);
}
