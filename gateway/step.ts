// What one element of the chain is: a function from one state of the request to the next.
import type { ChainDependencies } from './chain-dependencies.ts';

/** What a step returns when the exchange is over. */
export const answered = Symbol('answered');

/** One element of the chain. */
export type Step<In, Out> = (
  state: In,
  dependencies: ChainDependencies,
) => Out | typeof answered | Promise<Out | typeof answered>;
