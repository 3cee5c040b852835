// READ THIS FIRST. Every request, upgrade or not, passes these steps from top to bottom. Each step is a small function
// in a file of its own in gateway/steps/. The order keeps the gateway safe: nothing is authorized before the path has
// been parsed, and nothing is sent to a cluster before it is decided which user the cluster will see.
//
// A step takes the state that the steps before it have built (request/exchange.ts) and does one of three things:
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
import { serveConsole } from './steps/serve-console.ts';

/** The chain of a gateway that impersonates: clusters see every request as coming from the caller. */
export const chain = linked(
  receive, //      gives the request an id and the time of its arrival
  recover, //      an error in a later step is answered with a Status
  observe, //      metrics and log follow the request to its end
  describe, //     finds cluster, verb and resource in the request line; or answers 400, 404, 421 or 505
  serveConsole, // answers requests for the files of the console, which are the same for everybody
  authenticate, // finds out who the caller is; or answers 401, or 403 for a web page of another origin
  audit, //        starts the audit record and the trace; or answers 503 when the request cannot be recorded
  authorize, //    checks rights and impersonation (`--as`), drops the credential; or answers 403
  admit, //        waits until user, cluster and gateway are below their limits; or answers 429
  fanOut, //       answers requests for all clusters (`/clusters/*/proxy`)
  dispatch, //     answers requests for the gateway's own API (health, discovery, clusters, search)
  locate, //       finds the cluster's record, credential and connections; or answers 404, 502 or 503
  impersonate, //  decides which user the cluster will see; without a user nothing is sent
  forward, //      sends the request to the cluster and relays the answer
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
  serveConsole,
  authenticate,
  audit,
  authorizeAsSelf,
  admit,
  fanOutAsSelf,
  dispatch,
  locate,
  forwardAsSelf,
);
