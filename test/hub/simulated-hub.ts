// A process with a simulated hub that holds many clusters as cluster-gateway Secrets, for measuring a gateway with
// thousands of registrations. Settings come as a file (argument 1), the first line of standard output is its answer.
// All clusters may be one member, but each registration has its own credential Secret, or the gateway would be measured
// with one cluster under many names.
import { readFileSync } from 'node:fs';
import { startSimulator } from '../../sim/server.ts';
import { grantedClusterRole, groupSubject } from '../site/rbac.ts';

/** Contents of the settings file. */
export interface SimulatedHubSettings {
  readonly clusters: number;
  /** Namespace of the Secrets. */
  readonly namespace: string;
  /** Where every cluster listens, what to trust there, and what the gateway proves itself with. */
  readonly member: { readonly url: string; readonly caPem: string; readonly token: string };
  /** People of the hub, who may use every cluster's proxy. */
  readonly people: readonly { readonly name: string; readonly token: string; readonly groups: readonly string[] }[];
}

/** The first line of standard output. */
export interface SimulatedHubAddress {
  readonly url: string;
  readonly caPem: string;
  /** Of the account the gateway uses. */
  readonly token: string;
}

const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as SimulatedHubSettings;
const text = (value: string): string => Buffer.from(value).toString('base64');
const reviewPath = /^\/apis\/(?:authentication|authorization)\.k8s\.io\/v1\/(?:tokenreviews|subjectaccessreviews)$/;

const hub = await startSimulator({
  name: 'hub',
  controllers: false,
  tokens: Object.fromEntries(settings.people.map(({ token, name, groups }) => [token, { name, groups }])),
  seed: [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: settings.namespace } },
    ...grantedClusterRole(
      'proxy-users',
      [{ apiGroups: ['gateway.portcullis.io'], resources: ['clusters/proxy'], verbs: ['*'] }],
      groupSubject('system:authenticated'),
    ),
    ...Array.from({ length: settings.clusters }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: `cluster-${index}`,
        namespace: settings.namespace,
        labels: {
          'cluster.core.oam.dev/cluster-credential-type': 'ServiceAccountToken',
          'cluster.core.oam.dev/cluster-endpoint-type': 'Const',
        },
      },
      type: 'Opaque',
      data: {
        endpoint: text(settings.member.url),
        'ca.crt': text(settings.member.caPem),
        token: text(settings.member.token),
      },
    })),
  ],
});
let reviews = 0;
hub.audit.subscribe(({ path, isDone }) => {
  if (isDone && reviewPath.test(path)) reviews += 1;
});
const address: SimulatedHubAddress = { url: hub.url, caPem: hub.caPem, token: hub.adminToken };
process.stdout.write(`${JSON.stringify(address)}\n`);
// Each line that comes is answered with the reviews so far. Ends with whoever started it.
process.stdin.on('data', () => process.stdout.write(`reviews ${reviews}\n`)).on('end', () => process.exit(0));
