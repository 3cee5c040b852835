// Step 14 of the chain: sends the request to the member cluster and relays the answer. Security: there are two
// functions, one for each chain, so that `forward` cannot leave out the impersonated user by mistake. No `await` stands
// between reading the cluster record and sending, so that address and credential are of the same moment.
import { hostHeader } from '../../routing/pools/endpoint-request.ts';
import type { HeaderParts } from '../../routing/forward/headers.ts';
import { MemberRequest } from '../../routing/members/member-request.ts';
import type { OutgoingIdentity } from '../../routing/members/member-request.ts';
import { forwardStream } from '../../routing/forward/stream.ts';
import type { Forwarding } from '../../routing/forward/stream.ts';
import { forwardUpgrade } from '../../routing/forward/upgrade.ts';
import { answered } from './step.ts';
import type { Impersonating, Located } from '../../request/exchange.ts';
import { locationRewriter } from '../../request/location.ts';
import { applicationOffset } from '../../request/path.ts';
import { isLongRunning } from '../../request/request-info.ts';
import type { ChainDependencies } from './chain-dependencies.ts';
import { sandboxes } from '../../request/sandbox.ts';

/**
 * Sends the request to the cluster with `Impersonate-*` headers for the user that the step `impersonate` has chosen.
 */
export function forward(
  state: Impersonating,
  dependencies: ChainDependencies,
): typeof answered | Promise<typeof answered> {
  return send(state, dependencies, state.outgoing);
}

/**
 * Sends the request with the credential of the kubeconfig context, without impersonation. Only used with
 * `--identity=self`.
 */
export function forwardAsSelf(
  state: Located,
  dependencies: ChainDependencies,
): typeof answered | Promise<typeof answered> {
  return send(state, dependencies, 'self');
}

function headerParts(state: Located): HeaderParts {
  return {
    inbound: state.observation.trace === undefined ? state.headers : state.observation.trace.memberHeaders(state),
    host: hostHeader(state.record.spec.endpoint!),
    credential: state.credential,
    peerAddress: state.peer.address,
    auditId: state.auditId,
    upgrade: state.upgrade !== undefined,
  };
}

function send(
  state: Located,
  dependencies: ChainDependencies,
  identity: OutgoingIdentity,
): typeof answered | Promise<typeof answered> {
  const { inbound, surface, target, info, record, connection, progress, auditId, upgrade } = state;
  const endpoint = record.spec.endpoint!;
  const forwarding: Forwarding = {
    clusterName: surface.cluster,
    clusterUid: record.spec.uid,
    request: new MemberRequest(
      {
        method: inbound.method,
        target: endpoint.basePath + surface.path + target.query,
        body: state.body?.length ?? inbound.body,
        longRunning: isLongRunning(info),
      },
      headerParts(state),
      identity,
    ),
    transport: connection.transport,
    breaker: connection.breaker,
    openStreams: dependencies.openStreams,
    progress,
    outcome: state.observation,
    auditId,
    onCredentialRefused: () => record.spec.credential?.invalidate(),
    isApplication: applicationOffset(surface.segments) >= 0,
    inbound,
    body: state.body,
    onBody: bodyReader(state),
    isWatch: info.verb === 'watch',
    firstByteTimeoutMs: dependencies.firstByteTimeoutMs,
    rewriteLocation: locationRewriter(surface, endpoint),
    sandboxes: sandboxes(surface),
  };
  if (upgrade !== undefined) {
    return forwardUpgrade({ ...forwarding, inbound: state.upgradeInbound!, token: upgrade }).then(() => answered);
  }
  forwardStream(forwarding, state.fail);
  return answered;
}

/**
 * Passes the request body to the audit log, which reads the object in it; undefined when the audit log does not need
 * the body.
 */
function bodyReader({ observation }: Located): ((chunk: Buffer) => void) | undefined {
  const reader = observation.audit?.body;
  return reader === undefined ? undefined : (chunk) => reader.feed(chunk);
}
