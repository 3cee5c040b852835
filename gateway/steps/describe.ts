// Step 4 of the chain: reads from the request line which part of the gateway answers, which cluster is named, and verb
// and resource. With `--cluster-domain`, the Host header may name the cluster. The host must then be the name for which
// the TLS connection was made; otherwise the answer is 421.
import { GatewayError } from '../../model/errors.ts';
import { upgradeToken } from '../../routing/forward/upgrade.ts';
import type { UpgradeToken } from '../../http/upgrade-offer.ts';
import { indexVerb } from '../../request/index-groups.ts';
import { requireAllowed } from '../../request/index-subresources.ts';
import { isForIndex } from '../../request/proxying-request.ts';
import { canBecomeWebSocket, WebSocketInbound } from '../../http/websocket-inbound.ts';
import { described, watchedOverWebSocket } from '../../request/exchange.ts';
import type { Described, Observed } from '../../request/exchange.ts';
import { makeGetReader, readRequest } from '../../request/read-request.ts';
import type { RequestReading } from '../../request/read-request.ts';
import type { Inbound } from '../../http/inbound.ts';
import { isLongRunning, requestInfo } from '../../request/request-info.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import type { ChainDependencies } from './chain-dependencies.ts';
import { clustersThroughIndex, namesEveryCluster } from '../../request/routes.ts';
import type { Surface } from '../../request/routes.ts';

const readGet = makeGetReader();

export function describe(state: Observed, dependencies: ChainDependencies): Described {
  const { inbound, headFault, observation } = state;
  if (headFault !== undefined) throw headFault;
  const upgrade = state.upgradeInbound === undefined ? undefined : upgradeToken(inbound.method, inbound.headers);
  const reading = readLine(inbound, hostCluster(state, dependencies.clusterDomain), upgrade !== undefined);
  const { target, surface, info } = reading;
  if (inbound.protocol === 'HTTP/1.0') requireSmallDocument(surface);
  if (dependencies.refusing() && surface.kind !== 'health') {
    throw new GatewayError('DRAINING', 'the gateway is shutting down; ask again', { retryAfterSeconds: 1 });
  }
  if (surface.kind === 'member' && surface.outer === clustersThroughIndex)
    requireAllowed(info, surface.cluster, dependencies.forwardedSubresources);
  const asked = ofInnerPath(state, surface, target.query, upgrade !== undefined) ?? info;
  const isIndexed = surface.kind === 'index' && asked === info;
  observation.verb = isIndexed ? indexVerb(surface, info, target.query) : asked.verb;
  observation.resource = info.isResource ? info.resource : '';
  observation.longRunning = isIndexed ? observation.verb === 'watch' : isLongRunning(asked) || upgrade !== undefined;
  if (surface.kind === 'member') observation.cluster = surface.cluster;
  const next = described(state, reading, upgrade);
  if (upgrade === undefined) return next;
  const ownVerb = surface.kind === 'index' && !isIndexed ? '' : observation.verb;
  return describedUpgrade(next, state, ownVerb, upgrade);
}

/**
 * Refuses a request of HTTP/1.0 for anything but health and the documents that the gateway has in memory. Load
 * balancers and old probes ask for no more. Other answers may have an unknown length, and a client of HTTP/1.0 could
 * not see whether such an answer was cut.
 * @throws GatewayError HTTP_VERSION
 */
function requireSmallDocument({ kind }: Surface): void {
  if (kind === 'health' || kind === 'version' || kind === 'discovery' || kind === 'openapi') return;
  throw new GatewayError('HTTP_VERSION', 'HTTP/1.0 is served only for health, version and discovery; use HTTP/1.1');
}

/** Reads the request line. Results for ordinary GETs, which are most requests, are cached. */
function readLine({ method, target }: Inbound, host: string | undefined, isUpgrade: boolean): RequestReading {
  if (host === undefined && !isUpgrade && method === 'GET') return readGet(target);
  return readRequest(method, target, host, isUpgrade);
}

/**
 * The state of an upgrade request: a watch over WebSocket that the gateway itself answers becomes an ordinary watch;
 * any other upgrade goes on to a cluster.
 * @param ownVerb the verb when the gateway itself answers the request; '' when a cluster answers it
 * @throws GatewayError when the request may not be upgraded
 */
function describedUpgrade(next: Described, state: Observed, ownVerb: string, token: UpgradeToken): Described {
  const { surface, info, target } = next;
  if (isOwnWebSocketWatch(state, surface, ownVerb, token))
    return watchedOverWebSocket(next, new WebSocketInbound(state.upgradeInbound!));
  refuseOddUpgrade(state, surface, info, target.query);
  return next;
}

/**
 * Verb and resource of the Kubernetes path in a request by Karmada's path `proxying`, when a cluster answers the
 * request; undefined for all other requests.
 */
function ofInnerPath(
  { inbound }: Observed,
  surface: Surface,
  query: string,
  isUpgrade: boolean,
): RequestInfo | undefined {
  if (surface.kind !== 'index' || surface.part !== 'proxying') return undefined;
  const inner = requestInfo(inbound.method, surface.segments, query, isUpgrade);
  return isForIndex(inner, inbound.method) ? undefined : inner;
}

/**
 * Subresources on which a connection may be upgraded (docs/rules.md, "Upgrades are closed until 101"). A watch may be
 * upgraded as well.
 */
const upgradedSubresources: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'proxy', 'log']);

function refuseOddUpgrade(state: Observed, surface: Surface, info: RequestInfo, query: string): void {
  const isProxying = surface.kind === 'index' && surface.part === 'proxying';
  const segments = surface.kind === 'member' || isProxying ? surface.segments : [];
  const plain = requestInfo(state.inbound.method, segments, query, false);
  if (isProxying && plain.isResource && upgradedSubresources.has(plain.subresource)) return;
  const allowed =
    surface.kind === 'member' &&
    info.isResource &&
    (upgradedSubresources.has(info.subresource) || plain.verb === 'watch' || plain.verb === 'proxy');
  if (surface.kind === 'index') {
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      'of the index only watches are served over WebSocket; ask the cluster itself, below /clusters/<name>/proxy',
    );
  }
  if (!allowed) {
    throw new GatewayError(
      'BAD_UPGRADE',
      'upgrades are served only for exec, attach, portforward, proxy, log and watch',
    );
  }
}

/**
 * Whether the gateway itself answers this request, over WebSocket: a watch of the index, of every cluster, or of the
 * gateway's own objects. A watch of one cluster is answered by that cluster.
 * @throws GatewayError BAD_UPGRADE when the handshake of the WebSocket is not valid
 */
function isOwnWebSocketWatch({ inbound }: Observed, surface: Surface, verb: string, token: UpgradeToken): boolean {
  const isOwn = surface.kind === 'index' || surface.kind === 'resource' || namesEveryCluster(surface);
  if (!isOwn || verb !== 'watch' || token !== 'websocket') return false;
  if (canBecomeWebSocket(inbound)) return true;
  throw new GatewayError('BAD_UPGRADE', 'a WebSocket needs GET, a Sec-WebSocket-Key and Sec-WebSocket-Version 13');
}

/**
 * Name of the cluster when the request came to the host `<name>.<cluster-domain>`; otherwise undefined.
 * @throws GatewayError MISDIRECTED when the Host header is not the name for which the TLS connection was made
 */
function hostCluster(state: Observed, domain: string | undefined): string | undefined {
  if (domain === undefined) return undefined;
  const host = state.host.replace(/:\d{1,5}$/, '').toLowerCase();
  const serverName = state.peer.serverName.toLowerCase();
  const suffix = `.${domain}`;
  if (!host.endsWith(suffix) && !serverName.endsWith(suffix)) return undefined;
  if (host !== serverName) {
    throw new GatewayError('MISDIRECTED', 'the Host header is not the name the TLS connection was made for');
  }
  return host.slice(0, -suffix.length);
}
