// OpenAPI schemas of the objects that the gateway serves, with a description of every field. openapi.test.ts compares
// the schema of each kind with a full object, so that no field lacks a description.
import { clusterGatewayGroup, gatewayGroup, gatewayVersion } from '../../request/api-groups.ts';
import type { ServedGroup } from '../../request/api-groups.ts';

/**
 * The version of OpenAPI: `v2` is Swagger 2.0, `v3` is OpenAPI 3.0. The two keep schemas in different places and allow
 * different fields beside a `$ref`.
 */
export type Dialect = 'v2' | 'v3';

type Schema = Readonly<Record<string, unknown>>;

const meta = 'io.portcullis.meta.v1';
/** Prefixes of schema names: the API group with its parts in reverse order, as for schemas of custom resources. */
const prefixes: Readonly<Record<ServedGroup, string>> = {
  [gatewayGroup]: `io.portcullis.gateway.${gatewayVersion}`,
  [clusterGatewayGroup]: `dev.oam.core.cluster.${gatewayVersion}`,
};

/** Name of the schema of a kind, for example `io.portcullis.gateway.v1alpha1.Cluster`. */
export function schemaName(group: ServedGroup, kind: string): string {
  return `${prefixes[group]}.${kind}`;
}

/** A `$ref` to the schema called `name`. */
export function referenceTo(name: string, dialect: Dialect): Schema {
  return { $ref: `${dialect === 'v2' ? '#/definitions' : '#/components/schemas'}/${name}` };
}

const text = (description: string): Schema => ({ type: 'string', description });
const flag = (description: string): Schema => ({ type: 'boolean', description });
const fields = (description: string, properties: Schema): Schema => ({ type: 'object', description, properties });
const texts = (description: string): Schema => ({ type: 'array', description, items: { type: 'string' } });

/** All schemas of an API group, by schema name. */
export function schemasOf(group: ServedGroup, dialect: Dialect): Schema {
  const part = (name: string, description: string): Schema =>
    dialect === 'v2'
      ? { description, ...referenceTo(name, dialect) }
      : { description, allOf: [referenceTo(name, dialect)], default: {} };
  const kindOf = (kind: string, description: string, properties: Schema): Schema => ({
    [schemaName(group, kind)]: {
      ...fields(description, {
        apiVersion: text('Version of the schema of this object.'),
        kind: text(`Kind of this object: ${kind}.`),
        metadata: part(`${meta}.ObjectMeta`, 'Standard object metadata.'),
        ...properties,
      }),
      'x-kubernetes-group-version-kind': [{ group, version: gatewayVersion, kind }],
    },
    [schemaName(group, `${kind}List`)]: {
      ...fields(`A list of objects of kind ${kind}.`, {
        apiVersion: text('Version of the schema of this object.'),
        kind: text(`Kind of this object: ${kind}List.`),
        metadata: part(`${meta}.ListMeta`, 'Standard list metadata.'),
        items: {
          type: 'array',
          description: 'The objects.',
          items: dialect === 'v2' ? referenceTo(schemaName(group, kind), dialect) : part(schemaName(group, kind), ''),
        },
      }),
      required: ['items'],
      'x-kubernetes-group-version-kind': [{ group, version: gatewayVersion, kind: `${kind}List` }],
    },
  });
  const kinds =
    group === gatewayGroup
      ? {
          ...kindOf('Cluster', clusterDescription, { spec: clusterSpec, status: clusterStatus }),
          ...kindOf('ClusterStatistics', statisticsDescription, statisticsFields),
        }
      : {
          ...kindOf('ClusterGateway', clusterGatewayDescription, {
            spec: clusterGatewaySpec,
            status: clusterGatewayStatus,
          }),
          ...kindOf('VirtualCluster', virtualClusterDescription, { spec: virtualClusterSpec }),
        };
  return { ...kinds, ...metaSchemas };
}

const clusterDescription =
  'A cluster that can be reached through the gateway. Clusters come from sources such as kubeconfig files and objects of the hub, and are read-only here.';

const clusterSpec = fields('What the source says of the cluster.', {
  server: text('Address of the API server.'),
  fallbackServers: texts('Further addresses, tried in order when the first cannot be connected to.'),
  source: fields('Where the gateway knows the cluster from.', {
    type: text('Kind of the source, for example kubeconfig.'),
    detail: text('File and context, or object.'),
  }),
  originalName: text('Name as the source wrote it, before it was made fit for a path.'),
  credential: text('Kind of the credential the gateway uses towards the cluster; never the credential.'),
  tlsServerName: text('Name that is verified in place of the host.'),
  insecureSkipTLSVerify: flag('True when the certificate of the API server is not verified.'),
  proxyURL: text('Proxy through which the cluster is reached, without its credentials.'),
});

const clusterStatus = fields('What the probe of the gateway found.', {
  identity: text(
    'As whom requests reach the cluster: impersonate (the caller) or self (the credential of the kubeconfig).',
  ),
  version: fields('Versions the cluster reports.', { kubernetes: text('Version of Kubernetes.') }),
  latencyMilliseconds: {
    type: 'integer',
    format: 'int64',
    description: 'Round trip of the last successful probe.',
  },
  conditions: {
    type: 'array',
    description: 'What the probe found, then what the objects of the source say; each with reason and message.',
    items: fields('One condition.', {
      type: text('Type of the condition.'),
      status: text('True, False or Unknown.'),
      reason: text('One word for programs.'),
      message: text('One sentence for people.'),
      lastTransitionTime: { type: 'string', format: 'date-time', description: 'When the status last changed.' },
    }),
  },
});

const statisticsDescription =
  'Numbers of the requests to a cluster, counted by the process of the gateway that answers. A caller sees those of clusters that it may reach.';

const number = (description: string): Schema => ({ type: 'number', description });
const count = (description: string): Schema => ({ type: 'integer', format: 'int64', description });
const counts = (description: string): Schema => ({
  type: 'object',
  additionalProperties: { type: 'integer', format: 'int64' },
  description,
});
const quantiles = (description: string): Schema =>
  fields(description, {
    p50: number('Half of the requests took no longer.'),
    p99: number('99 of 100 took no longer.'),
  });
const moment = (description: string): Schema => ({ type: 'string', format: 'date-time', description });

const statisticsFields: Schema = {
  timestamp: moment('When the numbers were read.'),
  startTime: moment('When the process began to count.'),
  instance: text('The process that counted: its host, and its id there.'),
  requests: fields('Requests since startTime.', {
    total: count('All of them.'),
    codes: counts('By HTTP status code; 0 when the client left before an answer.'),
    verbs: counts('By verb.'),
    aborted: count('Those whose answer was cut.'),
    bytesIn: count('Bytes of bodies that clients sent.'),
    bytesOut: count('Bytes of bodies that clients got.'),
  }),
  openRequests: counts('Requests under way, by kind: short, watch, stream, upgrade.'),
  probeMilliseconds: count('Round trip of the last successful probe.'),
  recent: fields('What was asked in the last minute, or since the numbers were last read.', {
    seconds: number('How long ago the count of this field began.'),
    requestsPerSecond: number('Requests a second.'),
    serverErrorsPerSecond: number('Answers with a code of 500 or more, a second.'),
    durationMilliseconds: quantiles('From the request to the first byte of its answer.'),
    upstreamMilliseconds: quantiles('The part of it spent waiting for the cluster.'),
    gatewayMilliseconds: quantiles('The part of it spent in the gateway.'),
  }),
};

const clusterGatewayDescription =
  'A cluster as the clients of cluster-gateway know it. It is read-only but for its health, and holds no credential and no certificate authority.';

const clusterGatewaySpec = fields('How the cluster is reached.', {
  provider: text('Provider of the cluster; always empty.'),
  access: fields('Address and credential.', {
    endpoint: fields('Where the API server of the cluster is.', {
      type: text('Const (an address) or ClusterProxy (through the tunnel of the cluster).'),
      const: fields('Of type Const: the address.', {
        address: text('URL of the API server.'),
        insecure: flag('True when the certificate of the API server is not verified.'),
        'proxy-url': text('Proxy through which the cluster is reached, without its credentials.'),
      }),
    }),
    credential: fields('What the gateway uses towards the cluster; only its kind is shown.', {
      type: text('ServiceAccountToken, X509Certificate or Dynamic.'),
    }),
  }),
});

const clusterGatewayStatus = fields('What was last written to the health subresource; the gateway itself never does.', {
  healthy: flag('Whether the cluster was called healthy.'),
  healthyReason: text('Why, in one word.'),
});

const virtualClusterDescription =
  'A cluster of the hub, whether it is known by a Secret or by a ManagedCluster; `local` is the hub itself.';

const virtualClusterSpec = fields('What the object of the cluster says.', {
  alias: text('Another name for people.'),
  accepted: flag('Whether the hub accepts the cluster.'),
  endpoint: text('How the cluster is reached; - when that is not shown.'),
  'credential-type': text('ServiceAccountToken, X509Certificate, Dynamic, ManagedCluster or Internal.'),
});

const metaSchemas: Schema = {
  [`${meta}.ObjectMeta`]: fields('Metadata of an object.', {
    name: text('Name of the object, unique in its kind.'),
    uid: text('Identity of the object in time and space: it changes when something else takes the name.'),
    resourceVersion: text('Changes with every change of the object.'),
    creationTimestamp: { type: 'string', format: 'date-time', description: 'When the object came to be.' },
    labels: { type: 'object', additionalProperties: { type: 'string' }, description: 'Labels to select by.' },
  }),
  [`${meta}.ListMeta`]: fields('Metadata of a list.', {
    resourceVersion: text('Version of the list: a watch that begins there misses nothing.'),
  }),
};
