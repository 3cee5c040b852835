// Table columns of services, endpoints and ingresses. At most three endpoints are listed, followed by the number of
// further ones.
import type { Column } from './column.ts';
import type { JsonObject, KubeObject } from '../types.ts';
import { ageColumn, labelText, nameColumn, orNone, selectorCell, text, wide } from './cells.ts';

const shown = 3;
const loadBalancerWidth = 16;

function balancerText(object: KubeObject): string {
  const ingress: readonly JsonObject[] = object['status']?.loadBalancer?.ingress ?? [];
  const all = [...new Set(ingress.map((entry) => entry['ip'] || entry['hostname'] || ''))]
    .filter(Boolean)
    .sort()
    .join(',');
  return all.length > loadBalancerWidth ? `${all.slice(0, loadBalancerWidth - 3)}...` : all;
}

function externalIp(object: KubeObject): string {
  const { type, externalIPs = [], externalName } = object['spec'] ?? {};
  if (type === 'ExternalName') return externalName ?? '';
  if (type === 'LoadBalancer') {
    const all = [balancerText(object), ...externalIPs].filter(Boolean);
    return all.length === 0 ? '<pending>' : all.join(',');
  }
  return externalIPs.length === 0 ? '<none>' : externalIPs.join(',');
}

function ports(object: KubeObject): string {
  const list: readonly JsonObject[] = object['spec']?.ports ?? [];
  const text = list.map(
    ({ port, nodePort = 0, protocol = 'TCP' }) => `${port}${nodePort > 0 ? `:${nodePort}` : ''}/${protocol}`,
  );
  return text.length === 0 ? '<none>' : text.join(',');
}

function upToThree(all: readonly string[], none = '<none>'): string {
  if (all.length === 0) return none;
  const more = all.length - shown;
  return all.slice(0, shown).join(',') + (more > 0 ? ` + ${more} more...` : '');
}

function endpoints(object: KubeObject): string {
  const all = ((object['subsets'] ?? []) as JsonObject[]).flatMap(({ addresses = [], ports: list = [] }) => {
    const ips: readonly string[] = addresses.map((address: JsonObject) => address['ip']);
    return list.length === 0 ? ips : list.flatMap((port: JsonObject) => ips.map((ip) => `${ip}:${port['port']}`));
  });
  return upToThree(all);
}

function slicePorts(object: KubeObject): string {
  const list: readonly JsonObject[] = object['ports'] ?? [];
  return upToThree(
    list.map((port) => String(port['port'] ?? '*')),
    '<unset>',
  );
}

function sliceAddresses(object: KubeObject): string {
  return upToThree(
    ((object['endpoints'] ?? []) as JsonObject[]).flatMap((endpoint) => endpoint['addresses'] ?? []),
    '<unset>',
  );
}

function hosts(object: KubeObject): string {
  const rules: readonly JsonObject[] = object['spec']?.rules ?? [];
  return upToThree(rules.map((rule) => rule['host'] ?? '').filter(Boolean), '*');
}

/** The table columns of each resource, by storage key such as `/services`. */
export const networkColumns: Readonly<Record<string, readonly Column[]>> = {
  '/services': [
    nameColumn,
    text('Type', (object) => object['spec']?.type),
    text('Cluster-IP', (object) => orNone(object['spec']?.clusterIPs?.[0] ?? object['spec']?.clusterIP)),
    text('External-IP', externalIp),
    text('Port(s)', ports),
    ageColumn,
    wide('Selector', (object) => labelText(object['spec']?.selector)),
  ],
  '/endpoints': [nameColumn, text('Endpoints', endpoints), ageColumn],
  'discovery.k8s.io/endpointslices': [
    nameColumn,
    text('AddressType', (object) => object['addressType']),
    text('Ports', slicePorts),
    text('Endpoints', sliceAddresses),
    ageColumn,
  ],
  'networking.k8s.io/ingresses': [
    nameColumn,
    text('Class', (object) => orNone(object['spec']?.ingressClassName)),
    text('Hosts', hosts),
    text('Address', balancerText),
    text('Ports', (object) => ((object['spec']?.tls ?? []).length > 0 ? '80, 443' : '80')),
    ageColumn,
  ],
  'networking.k8s.io/ingressclasses': [
    nameColumn,
    text('Controller', (object) => object['spec']?.controller),
    text('Parameters', (object) => {
      const parameters = object['spec']?.parameters;
      if (parameters === undefined) return '<none>';
      return `${parameters.kind}${parameters.apiGroup ? `.${parameters.apiGroup}` : ''}/${parameters.name}`;
    }),
    ageColumn,
  ],
  'networking.k8s.io/networkpolicies': [
    nameColumn,
    text('Pod-Selector', (object) => selectorCell(object['spec']?.podSelector)),
    ageColumn,
  ],
};
