// A source of a hub whose clusters may only have addresses that objects of a hub may name. An unchanged cluster stays
// the very same spec. The operator's own tunnel server is exempt, since no object chose it.
import type { AddressRule } from '../model/address-rule.ts';
import type { HubSource } from '../hub/hub-types.ts';
import type { ClusterSpec, ProxyAddress } from '../model/records.ts';

/** The flag that lets an address pass. */
export const allowFlag = '--allow-member-addresses';

/**
 * The same source with its clusters judged: one whose endpoint, fallback or proxy is refused gets the problem
 * AddressRefused and neither address nor credential; every other one carries the rule, for its connections.
 * @param clusterProxy the tunnel server of the operator: with it, names are resolved and reached on the other side
 */
export function judgedSource(source: HubSource, rule: AddressRule, clusterProxy: ProxyAddress | undefined): HubSource {
  const judged = new WeakMap<ClusterSpec, ClusterSpec>();
  const judge = (spec: ClusterSpec): ClusterSpec => {
    const before = judged.get(spec);
    if (before !== undefined) return before;
    const tunnelled = spec.proxy !== undefined && spec.proxy === clusterProxy;
    const after = tunnelled || spec.endpoint === undefined ? spec : judgedSpec(spec, rule);
    judged.set(spec, after);
    return after;
  };
  return { ...source, compile: (objects) => source.compile(objects).map(judge) };
}

function judgedSpec(spec: ClusterSpec, rule: AddressRule): ClusterSpec {
  const endpoints = [spec.endpoint!, ...(spec.fallbacks ?? []).map(({ endpoint }) => endpoint)];
  const refused = endpoints.find(({ host }) => rule.refusesHost(host))?.host;
  const refusedProxy = spec.proxy !== undefined && rule.refusesHost(spec.proxy.host) ? spec.proxy.host : undefined;
  if (refused === undefined && refusedProxy === undefined) return { ...spec, addressRule: rule };
  const what = refused === undefined ? 'proxy' : 'API server';
  const { fallbacks: _fallbacks, ...rest } = spec;
  return {
    ...rest,
    endpoint: undefined,
    proxy: undefined,
    credential: undefined,
    problem: {
      reason: 'AddressRefused',
      message: `objects of a hub may not name ${refused ?? refusedProxy} as the address of ${what === 'proxy' ? 'a' : 'an'} ${what} (loopback, link-local, metadata and refused ranges); the operator can allow it with ${allowFlag}`,
    },
  };
}
