// Services, endpoints and ingresses for comparing tables with a real kube-apiserver's. Lists need more than three
// entries, or nothing is shortened.
import { expressions, inCluster, inNamespace, labels } from './table-object.ts';
import type { TableObject } from './table-object.ts';

export function networkObjects(): readonly TableObject[] {
  const service = inNamespace('v1', 'Service', 'services');
  const ports = [
    { name: 'a', port: 80 },
    { name: 'b', port: 53, protocol: 'UDP' },
  ];
  const addresses = ['10.1.0.1', '10.1.0.2', '10.1.0.3', '10.1.0.4'].map((ip) => ({ ip }));
  const slice = inNamespace('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices');
  const ingress = inNamespace('networking.k8s.io/v1', 'Ingress', 'ingresses');
  const backend = { service: { name: 's', port: { number: 80 } } };
  const rule = (host?: string): object => ({
    ...(host === undefined ? {} : { host }),
    http: { paths: [{ path: '/', pathType: 'Prefix', backend }] },
  });
  return [
    service('plain', { spec: { ports, selector: labels } }),
    service('headless', { spec: { clusterIP: 'None', ports } }),
    service('node', { spec: { type: 'NodePort', ports, externalIPs: ['192.0.2.1', '192.0.2.2'] } }),
    service('pending', { spec: { type: 'LoadBalancer', ports } }),
    service(
      'balanced',
      { spec: { type: 'LoadBalancer', ports, externalIPs: ['192.0.2.9'] } },
      {
        status: {
          loadBalancer: {
            ingress: [
              { ip: '203.0.113.7' },
              { hostname: 'long-name-of-a-balancer.example.com' },
              { ip: '203.0.113.1' },
            ],
          },
        },
      },
    ),
    service('named', { spec: { type: 'ExternalName', externalName: 'x.example.com' } }),
    inNamespace(
      'v1',
      'Endpoints',
      'endpoints',
    )('many', {
      subsets: [
        { addresses, ports: [{ port: 80 }] },
        {
          addresses: [{ ip: '2001:db8::1' }],
          ports: [
            { port: 1, name: 'w' },
            { port: 2, name: 'x' },
          ],
        },
      ],
    }),
    inNamespace(
      'v1',
      'Endpoints',
      'endpoints',
    )('six', { subsets: [{ addresses: [{ ip: '2001:db8::1' }], ports: [{ port: 1 }] }] }),
    inNamespace('v1', 'Endpoints', 'endpoints')('portless', { subsets: [{ addresses }] }),
    inNamespace('v1', 'Endpoints', 'endpoints')('none', {}),
    slice('many', {
      addressType: 'IPv4',
      ports: [
        { port: 1, name: 'a' },
        { port: 2, name: 'b' },
        { port: 3, name: 'c' },
        { port: 4, name: 'd' },
      ],
      endpoints: addresses.map(({ ip }) => ({ addresses: [ip] })),
    }),
    slice('none', { addressType: 'FQDN', endpoints: [] }),
    ingress('plain', { spec: { defaultBackend: backend } }),
    ingress(
      'full',
      {
        spec: {
          ingressClassName: 'nginx',
          tls: [{ hosts: ['a'] }],
          rules: [rule('a.x'), rule(), rule('b.x'), rule('c.x'), rule('d.x')],
        },
      },
      { status: { loadBalancer: { ingress: [{ ip: '203.0.113.7' }, { hostname: 'h.example.com' }] } } },
    ),
    inCluster('networking.k8s.io/v1', 'IngressClass', 'ingressclasses')(
      'nginx',
      { spec: { controller: 'x.io/c', parameters: { apiGroup: 'x.io', kind: 'P', name: 'p', scope: 'Cluster' } } },
      { metadata: { annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } } },
    ),
    inCluster('networking.k8s.io/v1', 'IngressClass', 'ingressclasses')('other', { spec: { controller: 'x.io/c' } }),
    inNamespace('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies')('all', { spec: { podSelector: {} } }),
    inNamespace(
      'networking.k8s.io/v1',
      'NetworkPolicy',
      'networkpolicies',
    )('some', { spec: { podSelector: expressions } }),
  ];
}
