// Step 4 of the chain: reads from the request line which part of the gateway answers, which cluster is meant, and verb
// and resource. With `--cluster-domain`, the Host header chooses the cluster. It must then be the name for which the
// TLS connection was made; otherwise the answer is 421.
import { GatewayError } from '../../cache/model/errors.ts';
import { upgradeToken } from '../../routing/forward/upgrade.ts';
import { indexVerb } from '../api/index/index-groups.ts';
import { requireAllowed } from '../api/index/index-subresources.ts';
import { isForIndex } from '../api/index/proxying-request.ts';
import { described } from '../exchange.ts';
import type { Described, Observed } from '../exchange.ts';
import { makeGetReader, readRequest } from '../request/read-request.ts';
import { isLongRunning, requestInfo } from '../request/request-info.ts';
import type { RequestInfo } from '../request/request-info.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';
import { clustersThroughIndex } from '../request/routes.ts';
import type { Surface } from '../request/routes.ts';

const readGet = makeGetReader();

export function describe(state: Observed, dependencies: ChainDependencies): Described {
  const { inbound, headFault, observation } = state;
  if (headFault !== undefined) throw headFault;
  const upgrade = state.upgradeInbound === undefined ? undefined : upgradeToken(inbound.method, inbound.headers);
  const host = hostCluster(state, dependencies.clusterDomain);
  const reading =
    host === undefined && upgrade === undefined && inbound.method === 'GET'
      ? readGet(inbound.target)
      : readRequest(inbound.method, inbound.target, host, upgrade !== undefined);
  const { target, surface, info } = reading;
  if (dependencies.refusing() && surface.kind !== 'health') {
    throw new GatewayError('DRAINING', 'the gateway is shutting down; ask again', { retryAfterSeconds: 1 });
  }
  if (surface.kind === 'member' && surface.outer === clustersThroughIndex)
    requireAllowed(info, surface.cluster, dependencies.forwardedSubresources);
  if (state.upgradeInbound !== undefined) refuseOddUpgrade(state, surface, info, target.query);
  const asked = ofInnerPath(state, surface, target.query, upgrade !== undefined) ?? info;
  const isIndexed = surface.kind === 'index' && asked === info;
  observation.verb = isIndexed ? indexVerb(surface, info, target.query) : asked.verb;
  observation.resource = info.isResource ? info.resource : '';
  observation.longRunning = isIndexed ? observation.verb === 'watch' : isLongRunning(asked) || upgrade !== undefined;
  if (surface.kind === 'member') observation.cluster = surface.cluster;
  return described(state, reading, upgrade);
}

/**
 * Verb and resource in a cluster of a request by Karmada's `proxying` path that goes to a cluster; undefined for all
 * other requests.
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
      'the index has only copies of objects and cannot upgrade a connection; send this request to the cluster itself, below /clusters/<name>/proxy',
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
