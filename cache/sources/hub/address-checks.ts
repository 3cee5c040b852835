// Wraps a source of a hub, so that its clusters may only have addresses that the operator's address rule permits. An
// unchanged cluster keeps the same spec instance. The konnectivity server that the operator configured is exempt,
// because its address does not come from an object of the hub.
import type { AddressRule } from '../../../model/address-rule.ts';
import type { HubSource } from '../hub-source.ts';
import type { ClusterSpec, ProxyAddress } from '../../../model/records.ts';

/** The flag with which an operator permits an address that is refused by default. */
export const allowFlag = '--allow-member-addresses';

/**
 * Returns the source with the rule applied to every cluster. A cluster whose endpoint, fallback or proxy is refused
 * loses its address and credential and gets the problem AddressRefused. Every other cluster carries the rule, so that
 * it is also applied to resolved addresses when a connection is opened.
 * @param clusterProxy the konnectivity server that the operator configured. Clusters behind it are not checked, because
 * their host names are resolved at the other end of the tunnel
 */
export function withCheckedAddresses(
  source: HubSource,
  rule: AddressRule,
  clusterProxy: ProxyAddress | undefined,
): HubSource {
  const checked = new WeakMap<ClusterSpec, ClusterSpec>();
  const judge = (spec: ClusterSpec): ClusterSpec => {
    const before = checked.get(spec);
    if (before !== undefined) return before;
    const tunnelled = spec.proxy !== undefined && spec.proxy === clusterProxy;
    const after = tunnelled || spec.endpoint === undefined ? spec : withCheckedAddress(spec, rule);
    checked.set(spec, after);
    return after;
  };
  return { ...source, compile: (objects) => source.compile(objects).map(judge) };
}

/**
 * Checks the addresses of one cluster. Returns the spec with the rule added, or without address and credential and with
 * the problem AddressRefused.
 */
export function withCheckedAddress(spec: ClusterSpec, rule: AddressRule): ClusterSpec {
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
