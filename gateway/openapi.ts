// OpenAPI v3 of our own group, so that `kubectl explain clusters` works. Easy to get wrong: a field that cluster-object.ts serves and this
// page does not describe; the test beside it compares them.
import { gatewayGroup, gatewayVersion } from './routes.ts';

const prefix = 'io.portcullis.gateway.v1alpha1';
const text = (description: string): object => ({ type: 'string', description });

const clusterSchema = {
  description:
    'A cluster that can be reached through the gateway. Clusters come from sources such as kubeconfig files and are read-only here.',
  type: 'object',
  'x-kubernetes-group-version-kind': [{ group: gatewayGroup, version: gatewayVersion, kind: 'Cluster' }],
  properties: {
    apiVersion: text('Version of the schema of this object.'),
    kind: text('Kind of this object: Cluster.'),
    metadata: {
      description: 'Standard object metadata. The uid changes when another API server takes the name.',
      allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }],
    },
    spec: {
      description: 'What the source says of the cluster.',
      type: 'object',
      properties: {
        server: text('Address of the API server.'),
        source: {
          description: 'Where the gateway knows the cluster from.',
          type: 'object',
          properties: {
            type: text('Kind of the source, for example kubeconfig.'),
            detail: text('File and context, or object.'),
          },
        },
        originalName: text('Name as the source wrote it, before it was made fit for a path.'),
        credential: text('Kind of the credential the gateway uses towards the cluster; never the credential.'),
        tlsServerName: text('Name that is verified in place of the host.'),
        insecureSkipTLSVerify: {
          type: 'boolean',
          description: 'True when the certificate of the API server is not verified.',
        },
        proxyURL: text('Proxy through which the cluster is reached, without its credentials.'),
      },
    },
    status: {
      description: 'What the probe of the gateway found.',
      type: 'object',
      properties: {
        identity: text(
          'As whom requests reach the cluster: impersonate (the caller) or self (the credential of the kubeconfig).',
        ),
        version: {
          description: 'Versions the cluster reports.',
          type: 'object',
          properties: { kubernetes: text('Version of Kubernetes.') },
        },
        latencyMilliseconds: {
          type: 'integer',
          format: 'int64',
          description: 'Round trip of the last successful probe.',
        },
        conditions: {
          type: 'array',
          description: 'Available, Ready, ImpersonationAllowed, Insecure, each with reason and message.',
          items: {
            type: 'object',
            properties: {
              type: text('Type of the condition.'),
              status: text('True, False or Unknown.'),
              reason: text('One word for programs.'),
              message: text('One sentence for people.'),
              lastTransitionTime: { type: 'string', format: 'date-time', description: 'When the status last changed.' },
            },
          },
        },
      },
    },
  },
};

const operation = (action: string, schema: string): object => ({
  get: {
    description: `${action} objects of kind Cluster`,
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group: gatewayGroup, version: gatewayVersion, kind: 'Cluster' },
    responses: {
      200: {
        description: 'OK',
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${prefix}.${schema}` } } },
      },
    },
  },
});

/** The document of our group-version. */
export const openapiV3Group = {
  openapi: '3.0.0',
  info: { title: 'Portcullis', version: gatewayVersion },
  paths: {
    [`/apis/${gatewayGroup}/${gatewayVersion}/clusters`]: operation('list', 'ClusterList'),
    [`/apis/${gatewayGroup}/${gatewayVersion}/clusters/{name}`]: operation('get', 'Cluster'),
  },
  components: {
    schemas: {
      [`${prefix}.Cluster`]: clusterSchema,
      [`${prefix}.ClusterList`]: {
        type: 'object',
        description: 'A list of clusters.',
        'x-kubernetes-group-version-kind': [{ group: gatewayGroup, version: gatewayVersion, kind: 'ClusterList' }],
        properties: {
          apiVersion: text('Version of the schema of this object.'),
          kind: text('Kind of this object: ClusterList.'),
          metadata: { type: 'object', description: 'Standard list metadata.' },
          items: {
            type: 'array',
            description: 'The clusters.',
            items: { $ref: `#/components/schemas/${prefix}.Cluster` },
          },
        },
      },
      'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': {
        type: 'object',
        description: 'ObjectMeta is metadata that all persisted resources must have.',
        properties: {
          name: text('Name of the object, unique in its group.'),
          uid: text('Identity of the object in time and space.'),
          resourceVersion: text('Changes with every change of the object.'),
          creationTimestamp: {
            type: 'string',
            format: 'date-time',
            description: 'When the gateway first knew the object.',
          },
          labels: { type: 'object', additionalProperties: { type: 'string' }, description: 'Labels to select by.' },
        },
      },
    },
  },
};

/** The map of `/openapi/v3`; the hash makes clients fetch again when the document changes. */
export function openapiV3Index(hash: string): object {
  const path = `apis/${gatewayGroup}/${gatewayVersion}`;
  return { paths: { [path]: { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` } } };
}

/** Swagger 2 for clients that know nothing newer: valid and without definitions. */
export const openapiV2 = {
  swagger: '2.0',
  info: { title: 'Portcullis', version: gatewayVersion },
  paths: {},
  definitions: {},
};
