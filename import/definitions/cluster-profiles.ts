// ClusterProfile of the Cluster Inventory API (multicluster.x-k8s.io/v1alpha1) as a CustomResourceDefinition, for hubs
// that do not have it. The fields are those of the community's own definition, so that definition can replace this one
// at any time.
import { clusterProfiles } from '../profiles/profile-object.ts';
import {
  bytes,
  column,
  conditionColumn,
  conditions,
  definitionOf,
  flag,
  list,
  record,
  text,
  time,
  type CustomResourceDefinition,
} from './schema.ts';

const extension = record(
  { name: text, extension: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  'name',
  'extension',
);

/** How a cluster is reached: the schema of a named `cluster` of a kubeconfig. */
const access = record(
  {
    name: text,
    cluster: record(
      {
        server: text,
        'tls-server-name': text,
        'insecure-skip-tls-verify': flag,
        'certificate-authority': text,
        'certificate-authority-data': bytes,
        'proxy-url': text,
        'disable-compression': flag,
        extensions: list(extension),
      },
      'server',
    ),
  },
  'name',
);

export const clusterProfileDefinition: CustomResourceDefinition = definitionOf({
  ...{ group: clusterProfiles.group, version: clusterProfiles.version, plural: clusterProfiles.resource },
  kind: 'ClusterProfile',
  scope: 'Namespaced',
  columns: [
    conditionColumn('ControlPlaneHealthy', 'status'),
    column('Version', '.status.version.kubernetes'),
    column('Manager', '.spec.clusterManager.name'),
  ],
  spec: record(
    {
      displayName: text,
      clusterManager: {
        ...record({ name: text }, 'name'),
        'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'ClusterManager is immutable' }],
      },
    },
    'clusterManager',
  ),
  required: ['spec'],
  status: record({
    version: record({ kubernetes: text }),
    properties: list(
      record(
        {
          name: { ...text, minLength: 1, maxLength: 253 },
          value: { ...text, minLength: 1, maxLength: 1024 },
          lastObservedTime: time,
        },
        'name',
        'value',
      ),
    ),
    accessProviders: list(access),
    credentialProviders: list(access),
    conditions,
  }),
});
