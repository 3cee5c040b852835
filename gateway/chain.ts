// READ THIS FIRST. Every request, upgrade or not, passes these steps from top to bottom. Each step is a small function
// in a file of its own in gateway/steps/. The order is what keeps the gateway safe: nothing is authorized before the
// path was parsed, and nothing is sent before an identity was put on it.
//
// A step takes the state that the steps before it have built (gateway/exchange.ts) and does one of three things:
//   it returns a richer state for the next step;
//   it throws a GatewayError, which the client gets as a Kubernetes Status (metav1.Status);
//   it answers the request itself and returns `answered`: no later step runs.
import { linked } from './run-chain.ts';
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

/** The chain of a gateway that impersonates: clusters see every request as coming from the caller. */
export const chain = linked(
  receive, //      gives the request an id and a clock
  recover, //      whatever is thrown below becomes a Status
  observe, //      metrics and log follow the request to its end
  describe, //     reads the path: for a cluster or for the gateway itself, which verb on what; or 400, 404, 421
  authenticate, // who is the caller? or 401; 403 for a web page of another origin
  audit, //        begins the request's audit event and trace; or 503 when a change cannot be recorded
  authorize, //    may the caller do this, and act as somebody else (`--as`)? or 403; drops the caller's credential
  admit, //        waits for a seat of the user, the cluster and the gateway; or 429
  fanOut, //       a request for every cluster (`/clusters/*/proxy`) is answered here
  dispatch, //     a request for the gateway's own API (health, discovery, clusters, search) is answered here
  locate, //       finds the cluster, its credential and connections; or 404, 502, 503
  impersonate, //  decides which user the cluster will see; without one nothing is sent
  forward, //      sends the request to the cluster and streams the answer back
);

/**
 * The chain of `--identity=self`, for one person at their own machine. Requests are sent with the credential of the
 * person's kubeconfig and impersonate nobody (docs/rules.md, "No identity, no bytes").
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
