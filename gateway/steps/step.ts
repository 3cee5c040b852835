// The type of a step of the chain: a function from one state of the request to the next.
import type { ChainDependencies } from './chain-dependencies.ts';

/** A step returns this value when it has answered the request itself; then no later step runs. */
export const answered = Symbol('answered');

/** One step of the chain. It returns the next state, or {@link answered}; it may throw a GatewayError. */
export type Step<In, Out> = (
  state: In,
  dependencies: ChainDependencies,
) => Out | typeof answered | Promise<Out | typeof answered>;
