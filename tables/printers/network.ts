// Rows of services, their endpoints, ingresses and network policies. Which field gives the external address depends on
// the type of the service. Lists show three items and the number of further ones. Follows pkg/printers/internalversion
// of Kubernetes v1.36 (Apache-2.0).
import { labelsText, markedName, selectorCell, shortList, type LabelSelector } from './cells.ts';
import { printer, type Printers } from './printer.ts';

const shown = 3;

interface LoadBalancer {
  readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
}

interface Service {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly externalIPs?: readonly string[];
    readonly externalName?: string;
    readonly ports?: readonly { readonly port?: number; readonly nodePort?: number; readonly protocol?: string }[];
    readonly selector?: Readonly<Record<string, string>>;
  };
  readonly status?: { readonly loadBalancer?: LoadBalancer };
}

/** The IP addresses or host names of a load balancer, sorted and without duplicates. */
function balancerAddresses(balancer: LoadBalancer | undefined): readonly string[] {
  const addresses = (balancer?.ingress ?? [])
    .map(({ ip, hostname }) => ip || hostname || '')
    .filter((text) => text !== '');
  return [...new Set(addresses)].sort();
}

function externalAddress({ spec, status }: Service): string {
  const external = spec?.externalIPs ?? [];
  switch (spec?.type) {
    case 'ClusterIP':
    case 'NodePort':
      return external.join(',') || '<none>';
    case 'LoadBalancer': {
      const addresses = balancerAddresses(status?.loadBalancer);
      return [...addresses, ...external].join(',') || '<pending>';
    }
    case 'ExternalName':
      return spec.externalName ?? '';
    default:
      return '<unknown>';
  }
}

interface Subset {
  readonly addresses?: readonly { readonly ip?: string }[];
  readonly ports?: readonly { readonly port?: number }[];
}

function endpointsCell(subsets: readonly Subset[]): string {
  if (subsets.length === 0) return '<none>';
  const all = subsets.flatMap(({ addresses = [], ports = [] }) => {
    const ips = addresses.map(({ ip }) => ip ?? '');
    if (ports.length === 0) return ips;
    return ports.flatMap(({ port }) => ips.map((ip) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)));
  });
  return shortList(all, shown);
}

function hostsCell(rules: readonly { readonly host?: string }[]): string {
  const hosts: string[] = [];
  let isCut = false;
  for (const { host } of rules) {
    if (hosts.length === shown) isCut = true;
    if (!isCut && host) hosts.push(host);
  }
  if (hosts.length === 0) return '*';
  // As in kube-apiserver, the number after `+` counts rules that are not shown, and rules without a host count too.
  return isCut ? `${hosts.join(',')} + ${rules.length - shown} more...` : hosts.join(',');
}

export const networkPrinters: Printers = {
  'services.': printer<Service>(
    `Name:string:name | @name
Type:string = spec.type | type determines how the Service is exposed. Defaults to ClusterIP. Valid options are ExternalName, ClusterIP, NodePort, and LoadBalancer. "ClusterIP" allocates a cluster-internal IP address for load-balancing to endpoints. Endpoints are determined by the selector or if that is not specified, by manual construction of an Endpoints object or EndpointSlice objects. If clusterIP is "None", no virtual IP is allocated and the endpoints are published as a set of endpoints rather than a virtual IP. "NodePort" builds on ClusterIP and allocates a port on every node which routes to the same endpoints as the clusterIP. "LoadBalancer" builds on NodePort and creates an external load-balancer (if supported in the current cloud) which routes to the same endpoints as the clusterIP. "ExternalName" aliases this service to the specified externalName. Several other fields do not apply to ExternalName services. More info: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types
Cluster-IP:string | clusterIP is the IP address of the service and is usually assigned randomly. If an address is specified manually, is in-range (as per system configuration), and is not in use, it will be allocated to the service; otherwise creation of the service will fail. This field may not be changed through updates unless the type field is also being changed to ExternalName (which requires this field to be blank) or the type field is being changed from ExternalName (in which case this field may optionally be specified, as describe above).  Valid values are "None", empty string (""), or a valid IP address. Setting this to "None" makes a "headless service" (no virtual IP), which is useful when direct endpoint connections are preferred and proxying is not required.  Only applies to types ClusterIP, NodePort, and LoadBalancer. If this field is specified when creating a Service of type ExternalName, creation will fail. This field will be wiped when updating a Service to type ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies
External-IP:string | externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this service.  These IPs are not managed by Kubernetes.  The user is responsible for ensuring that traffic arrives at a node with this IP.  A common example is external load-balancers that are not part of the Kubernetes system.
Port(s):string | The list of ports that are exposed by this service. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies
Age:string | @age
Selector:string::1 | Route service traffic to pods with label keys and values matching this selector. If empty or not present, the service is assumed to have an external process managing its endpoints, which Kubernetes will not modify. Only applies to types ClusterIP, NodePort, and LoadBalancer. Ignored if type is ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/`,
    {
      'Cluster-IP': ({ spec }) => spec?.clusterIPs?.[0] ?? (spec?.clusterIP || '<none>'),
      'External-IP': externalAddress,
      'Port(s)': ({ spec }) =>
        (spec?.ports ?? [])
          .map(({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol ?? ''}`)
          .join(',') || '<none>',
      Selector: ({ spec }) => labelsText(spec?.selector),
    },
  ),
  'endpoints.': printer<{ readonly subsets?: readonly Subset[] }>(
    `Name:string:name | @name
Endpoints:string | The set of all endpoints is the union of all subsets. Addresses are placed into subsets according to the IPs they share. A single address with multiple ports, some of which are ready and some of which are not (because they come from different containers) will result in the address being displayed in different subsets for the different ports. No address will appear in both Addresses and NotReadyAddresses in the same subset. Sets of addresses and ports that comprise a service.
Age:string | @age`,
    { Endpoints: ({ subsets }) => endpointsCell(subsets ?? []) },
  ),
  'endpointslices.discovery.k8s.io': printer<{
    readonly ports?: readonly { readonly port?: number; readonly name?: string }[] | null;
    readonly endpoints?: readonly { readonly addresses?: readonly string[] }[] | null;
  }>(
    `Name:string:name | @name
AddressType:string = addressType | addressType specifies the type of address carried by this EndpointSlice. All addresses in this slice must be the same type. This field is immutable after creation. The following address types are currently supported: * IPv4: Represents an IPv4 Address. * IPv6: Represents an IPv6 Address. * FQDN: Represents a Fully Qualified Domain Name. (Deprecated) The EndpointSlice controller only generates, and kube-proxy only processes, slices of addressType "IPv4" and "IPv6". No semantics are defined for the "FQDN" type.
Ports:string | ports specifies the list of network ports exposed by each endpoint in this slice. Each port must have a unique name. Each slice may include a maximum of 100 ports. Services always have at least 1 port, so EndpointSlices generated by the EndpointSlice controller will likewise always have at least 1 port. EndpointSlices used for other purposes may have an empty ports list.
Endpoints:string | endpoints is a list of unique endpoints in this slice. Each slice may include a maximum of 1000 endpoints.
Age:string | @age`,
    {
      Ports: ({ ports }) =>
        shortList(
          (ports ?? []).map(({ port, name }) => String(port ?? name ?? '*')),
          shown,
        ) || '<unset>',
      Endpoints: ({ endpoints }) =>
        shortList(
          (endpoints ?? []).flatMap(({ addresses }) => addresses ?? []),
          shown,
        ) || '<unset>',
    },
  ),
  'ingresses.networking.k8s.io': printer<{
    readonly spec?: { readonly rules?: readonly { readonly host?: string }[]; readonly tls?: readonly object[] };
    readonly status?: { readonly loadBalancer?: LoadBalancer };
  }>(
    `Name:string:name | @name
Class:string = spec.ingressClassName ?? <none> | The name of the IngressClass resource that should be used for additional configuration
Hosts:string | Hosts that incoming requests are matched against before the ingress rule
Address:string | Address is a list containing ingress points for the load-balancer
Ports:string | Ports of TLS configurations that open
Age:string | @age`,
    {
      Hosts: ({ spec }) => hostsCell(spec?.rules ?? []),
      Address: ({ status }) => balancerAddresses(status?.loadBalancer).join(','),
      Ports: ({ spec }) => ((spec?.tls?.length ?? 0) > 0 ? '80, 443' : '80'),
    },
  ),
  'ingressclasses.networking.k8s.io': printer<{
    readonly spec?: {
      readonly parameters?: { readonly kind?: string; readonly apiGroup?: string; readonly name?: string } | null;
    };
  }>(
    `Name:string:name | @name
Controller:string = spec.controller | Controller that is responsible for handling this class
Parameters:string | A reference to a resource with additional parameters
Age:string | @age`,
    {
      Name: (object) => markedName(object, ['ingressclass.kubernetes.io']),
      Parameters: ({ spec }) => {
        const parameters = spec?.parameters ?? undefined;
        if (parameters === undefined) return '<none>';
        const group = parameters.apiGroup === undefined ? '' : `.${parameters.apiGroup}`;
        return `${parameters.kind}${group}/${parameters.name}`;
      },
    },
  ),
  'networkpolicies.networking.k8s.io': printer<{ readonly spec?: { readonly podSelector?: LabelSelector } }>(
    `Name:string:name | @name
Pod-Selector:string | podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied to any pods selected by this field. An empty selector matches all pods in the policy's namespace. Multiple network policies can select the same set of pods. In this case, the ingress rules for each are combined additively. This field is optional. If it is not specified, it defaults to an empty selector.
Age:string | @age`,
    { 'Pod-Selector': ({ spec }) => selectorCell(spec?.podSelector) },
  ),
  'servicecidrs.networking.k8s.io': printer<{ readonly spec?: { readonly cidrs?: readonly string[] } }>(
    `Name:string:name | @name
CIDRs:string | CIDRs defines the IP blocks in CIDR notation (e.g. "192.168.0.0/24" or "2001:db8::/64") from which to assign service cluster IPs. Max of two CIDRs is allowed, one of each IP family. This field is immutable.
Age:string | @age`,
    { CIDRs: ({ spec }) => (spec?.cidrs ?? []).join(',') },
  ),
  // The row of an IPAddress has three cells although the type has two columns, because kube-apiserver sends three.
  'ipaddresses.networking.k8s.io': printer<{
    readonly spec?: {
      readonly parentRef?: {
        readonly group?: string;
        readonly resource?: string;
        readonly namespace?: string;
        readonly name?: string;
      };
    };
  }>(
    `Name:string:name | @name
ParentRef:string | ParentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object.`,
    (object, ages) => {
      const parent = object.spec?.parentRef;
      const type = `${parent?.resource ?? ''}${parent?.group ? `.${parent.group}` : ''}`.toLowerCase();
      const namespace = parent?.namespace ? `/${parent.namespace}` : '';
      const text = parent === undefined ? '<none>' : `${type}${namespace}/${parent.name ?? ''}`;
      return [object.metadata?.name ?? '', text, ages.of(object)];
    },
  ),
};
