// Defines Clusterpedia's four types as CustomResourceDefinitions. Fields, types, columns and subresources equal
// Clusterpedia's own, so that Clusterpedia and the gateway can each use objects that the other has written.
import {
  bytes,
  column,
  conditionColumn,
  conditions,
  definitionOf,
  flag,
  keyedList,
  list,
  record,
  text,
  time,
  type CustomResourceDefinition,
} from './schema.ts';

export const clusterGroup = 'cluster.clusterpedia.io';
export const policyGroup = 'policy.clusterpedia.io';

const texts = list(text);

const syncResources = list(
  record(
    {
      group: text,
      versions: texts,
      resources: list(text, { minItems: 1 }),
      eventsInvolvedResources: texts,
    },
    'group',
    'resources',
  ),
);

const secretKey = record({ name: text, key: text }, 'name', 'key');

const syncCondition = record(
  {
    version: text,
    syncVersion: text,
    syncResource: text,
    storageVersion: text,
    storageResource: text,
    status: text,
    reason: text,
    message: text,
    initialListPhase: flag,
    lastTransitionTime: time,
  },
  'version',
  'status',
  'lastTransitionTime',
);

const syncedResource = record(
  { name: text, kind: text, namespaced: flag, syncConditions: list(syncCondition) },
  'name',
  'kind',
  'namespaced',
  'syncConditions',
);

const pediaCluster = definitionOf({
  group: clusterGroup,
  version: 'v1alpha2',
  kind: 'PediaCluster',
  plural: 'pediaclusters',
  columns: [
    conditionColumn('Ready', 'status'),
    column('Version', '.status.version'),
    column('APIServer', '.status.apiserver'),
    conditionColumn('Validated', 'reason', 'wide'),
    conditionColumn('SynchroRunning', 'reason', 'wide'),
    conditionColumn('ClusterHealthy', 'reason', 'wide'),
    column('ShardingName', '.status.shardingName', 'wide'),
  ],
  spec: record(
    {
      apiserver: text,
      kubeconfig: bytes,
      caData: bytes,
      tokenData: bytes,
      certData: bytes,
      keyData: bytes,
      authenticationFrom: record({
        kubeconfig: secretKey,
        ca: secretKey,
        token: secretKey,
        cert: secretKey,
        key: secretKey,
      }),
      shardingName: text,
      syncAllCustomResources: flag,
      syncResources,
      syncResourcesRefName: text,
    },
    'syncResources',
  ),
  status: record({
    apiserver: text,
    version: text,
    shardingName: text,
    conditions,
    syncResources: list(record({ group: text, resources: list(syncedResource) }, 'group', 'resources')),
  }),
});

const clusterSyncResources = definitionOf({
  group: clusterGroup,
  version: 'v1alpha2',
  kind: 'ClusterSyncResources',
  plural: 'clustersyncresources',
  spec: record({ syncResources }, 'syncResources'),
});

const reference = { key: text, group: text, resource: text, namespaceTemplate: text, nameTemplate: text };
const referenceRequired = ['key', 'group', 'resource', 'nameTemplate'];
const dependency = record(
  { group: text, version: text, resource: text, namespace: text, name: text },
  'group',
  'version',
  'resource',
  'name',
);

const clusterImportPolicy = definitionOf({
  group: policyGroup,
  version: 'v1alpha1',
  kind: 'ClusterImportPolicy',
  plural: 'clusterimportpolicies',
  columns: [conditionColumn('Validated', 'reason'), conditionColumn('Reconciling', 'reason')],
  spec: record(
    {
      source: record({ group: text, versions: texts, resource: text, selectorTemplate: text }, 'group', 'resource'),
      references: keyedList('key', record({ ...reference, versions: texts }, ...referenceRequired)),
      nameTemplate: text,
      template: text,
      creationCondition: text,
    },
    'source',
    'nameTemplate',
    'template',
    'creationCondition',
  ),
  status: record({ conditions }),
});

const pediaClusterLifecycle = definitionOf({
  group: policyGroup,
  version: 'v1alpha1',
  kind: 'PediaClusterLifecycle',
  plural: 'pediaclusterlifecycles',
  columns: [conditionColumn('Created', 'reason'), conditionColumn('Updating', 'reason')],
  spec: record(
    {
      source: dependency,
      references: keyedList('key', record({ ...reference, version: text }, ...referenceRequired, 'version')),
      template: text,
      creationCondition: text,
    },
    'source',
    'template',
    'creationCondition',
  ),
  status: record({ conditions, references: list(dependency) }),
});

/** The CustomResourceDefinitions of Clusterpedia's four types, sorted by name. */
export const clusterpediaDefinitions: readonly CustomResourceDefinition[] = [
  clusterImportPolicy,
  clusterSyncResources,
  pediaClusterLifecycle,
  pediaCluster,
];
