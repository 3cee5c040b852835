// READ THIS FIRST. Every request, upgrade or not, passes these steps from top to bottom; each is a small function in a
// file of its own below gateway/steps/. Easy to get wrong: the order. Nothing may be authorized before it is described
// by the one path parser, and nothing may be sent before an identity was put on it.
//
//   a step takes the state the steps before it have built and returns a richer one (gateway/exchange.ts has the types),
//   or throws a GatewayError, which `recover` has arranged to become a metav1.Status,
//   or returns `answered` when the request is over.
import { answered } from './step.ts';
import type { Arrival } from '../http/arrival.ts';
import type { Step } from './step.ts';
import type { ChainDependencies } from './chain-dependencies.ts';
import { admit } from './steps/admit.ts';
import { audit } from './steps/audit.ts';
import { authenticate } from './steps/authenticate.ts';
import { authorize, authorizeAsSelf } from './steps/authorize.ts';
import { describe } from './steps/describe.ts';
import { dispatch } from './steps/dispatch.ts';
import { fanOut, fanOutAsSelf } from './steps/fan-out.ts';
import { forward, forwardAsSelf } from './steps/forward.ts';
import { impersonate } from './steps/impersonate.ts';
import { locate } from './steps/locate.ts';
import { observe } from './steps/observe.ts';
import { receive } from './steps/receive.ts';
import { recover } from './steps/recover.ts';

/** The chain of a gateway that impersonates: all modes but one. */
export const chain = linked(
  receive, //      id, clock
  recover, //      anything thrown below becomes a Status
  observe, //      metrics and log, opened now, closed when the exchange ends
  describe, //     one parse of the path: surface, cluster, verb, resource; 400, 404 or 421
  authenticate, // user, or 401; 403 for another origin's web page that brings nothing but what a browser adds by itself
  audit, //        what is recorded of it, and its trace; 503 when a change could not be
  authorize, //    --as and rules: 403; the caller's credential is out of the state from here on
  admit, //        a place of user, cluster and gateway, or a wait in turn, or 429
  fanOut, //       every cluster (`*`)? each asked as the caller, one answer ──► end
  dispatch, //     local answer? health, version, discovery, openapi, clusters ──► end
  locate, //       cluster record, credential, connections; 404, 502 or 503
  impersonate, //  the identity the member will see, or nothing is sent
  forward, //      stream or upgrade ──► end
);

/**
 * The chain of standalone `--identity=self` (rule "no identity, no bytes"): the person's own credential, no
 * impersonation; everything else is the same.
 */
export const selfChain = linked(
  receive,
  recover,
  observe,
  describe,
  authenticate,
  audit,
  authorizeAsSelf,
  admit,
  fanOutAsSelf,
  dispatch,
  locate,
  forwardAsSelf,
);

/** A step whose place in the chain has been checked. */
export type AnyStep = Step<never, unknown>;

/** Runs a request through a chain. Never throws; returns when the last step has it, or one that has to wait. */
export function run(steps: readonly AnyStep[], arrival: Arrival, dependencies: ChainDependencies): void {
  runFrom(0, arrival, steps, arrival, dependencies);
}

/** Without a promise unless a step has to wait: most requests never do. */
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

function failState(state: unknown, arrival: Arrival, error: unknown): void {
  const { fail } = state as { fail?: (error: unknown) => void };
  if (fail === undefined) arrival.inbound.abort();
  else fail(error);
}

/** Lets the compiler check that each step's result is what the next step takes. */
function linked<A, B, C, D, E, F, G, H, I, J, K, L>(
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
    Step<L, never>?,
  ]
): readonly AnyStep[] {
  return steps.filter((step) => step !== undefined);
}
