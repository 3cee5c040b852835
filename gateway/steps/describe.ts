// Step 4: the one reading of the request line: which surface, which cluster, which verb on what. Easy to get wrong: with a cluster
// domain the Host chooses the cluster, so it must be the name the TLS connection was made for (421 otherwise).
import { GatewayError } from '../../cache/errors.ts';
import { upgradeToken } from '../../routing/upgrade.ts';
import { indexVerb } from '../api/index-groups.ts';
import { grown } from '../exchange.ts';
import type { Described, Observed } from '../exchange.ts';
import { parseTarget } from '../path.ts';
import { isLongRunning, requestInfo } from '../request-info.ts';
import type { RequestInfo } from '../request-info.ts';
import type { Rooms } from '../rooms.ts';
import { route } from '../routes.ts';
import type { Surface } from '../routes.ts';

export function describe(state: Observed, rooms: Rooms): Described {
  const { inbound, headFault, observation } = state;
  if (headFault !== undefined) throw headFault;
  const target = parseTarget(inbound.target);
  const surface = route(target, hostCluster(state, rooms.clusterDomain));
  if (rooms.refusing() && surface.kind !== 'health') {
    throw new GatewayError('DRAINING', 'the gateway is shutting down; ask again', { retryAfterSeconds: 1 });
  }
  const upgrade = state.upgradeInbound === undefined ? undefined : upgradeToken(inbound.method, inbound.headers);
  const segments = surface.kind === 'member' ? surface.segments : target.segments;
  const info = requestInfo(inbound.method, segments, target.query, upgrade !== undefined);
  if (state.upgradeInbound !== undefined) refuseOddUpgrade(state, surface, info, target.query);
  observation.verb = surface.kind === 'index' ? indexVerb(surface, info, target.query) : info.verb;
  observation.resource = info.isResource ? info.resource : '';
  observation.longRunning =
    surface.kind === 'index' ? observation.verb === 'watch' : isLongRunning(info) || upgrade !== undefined;
  if (surface.kind === 'member') observation.cluster = surface.cluster;
  return grown(state, { target, surface, info, upgrade });
}

/** Subresources that may be upgraded (DESIGN rule 6); log and watch over WebSocket are a GET on the resource itself. */
const upgradedSubresources: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'proxy', 'log']);

function refuseOddUpgrade(state: Observed, surface: Surface, info: RequestInfo, query: string): void {
  const plain = requestInfo(state.inbound.method, surface.kind === 'member' ? surface.segments : [], query, false);
  const allowed =
    surface.kind === 'member' &&
    info.isResource &&
    (upgradedSubresources.has(info.subresource) || plain.verb === 'watch' || plain.verb === 'proxy');
  if (!allowed) {
    throw new GatewayError(
      'BAD_UPGRADE',
      'upgrades are served only for exec, attach, portforward, proxy, log and watch',
    );
  }
}

/** Name of the cluster when the request came to `<name>.<cluster-domain>`. */
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
