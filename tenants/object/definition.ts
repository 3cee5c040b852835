// The type TenantBinding as a CustomResourceDefinition. What the schema can refuse, the hub refuses when the object is
// written; the controller checks the same again, since the definition on the hub may be an older one.
import {
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
  type Schema,
} from '../../import/definitions/schema.ts';
import { tenantBindings } from './tenant-binding.ts';

const name: Schema = { ...text, minLength: 1, maxLength: 253 };
const namespace: Schema = { ...text, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' };
const texts: Schema = list(text);
const count: Schema = { type: 'integer' };
const some = { minItems: 1, maxItems: 256 };
const selector: Schema = record({
  matchLabels: { type: 'object', additionalProperties: text },
  matchExpressions: list(
    record(
      { key: text, operator: { ...text, enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] }, values: texts },
      'key',
      'operator',
    ),
    { maxItems: 32 },
  ),
});
const subject: Schema = {
  ...record(
    { apiGroup: text, kind: { ...text, enum: ['User', 'Group', 'ServiceAccount'] }, name, namespace },
    'kind',
    'name',
  ),
  'x-kubernetes-validations': [
    {
      rule: 'self.kind == "ServiceAccount" ? has(self.namespace) : !has(self.namespace)',
      message: 'a ServiceAccount has a namespace, a User and a Group have none',
    },
    {
      rule: 'self.kind == "ServiceAccount" || !(self.name.startsWith("system:") || self.name.startsWith("portcullis:"))',
      message: 'names that begin with system: or portcullis: are reserved, and nothing is granted to them',
    },
  ],
};
const rule: Schema = record(
  { apiGroups: texts, resources: texts, resourceNames: texts, nonResourceURLs: texts, verbs: texts },
  'verbs',
);
const grant: Schema = {
  ...record(
    {
      clusterRole: name,
      rules: list(rule, some),
      scope: { ...text, enum: ['Cluster', 'Namespaces'] },
      namespaces: list(namespace, some),
      namespaceSelector: selector,
      createNamespaces: flag,
    },
    'scope',
  ),
  'x-kubernetes-validations': [
    { rule: 'has(self.clusterRole) != has(self.rules)', message: 'a grant has either clusterRole or rules' },
    {
      rule: 'self.scope == "Cluster" ? !has(self.namespaces) && !has(self.namespaceSelector) : has(self.namespaces) != has(self.namespaceSelector)',
      message: 'a grant with scope Namespaces has either namespaces or namespaceSelector, one with scope Cluster none',
    },
    {
      rule: '!has(self.createNamespaces) || !self.createNamespaces || has(self.namespaces)',
      message: 'createNamespaces needs namespaces',
    },
  ],
};
const granted: Schema = record({ kind: text, namespace: text, name: text, uid: text });
const cluster: Schema = record({
  name: text,
  phase: { ...text, enum: ['Pending', 'Applied', 'Error', 'Removed'] },
  reason: text,
  message: text,
  since: time,
  objects: list(granted),
  writer: record({ user: text, groups: texts }),
});
const { type, kind } = tenantBindings;

export const tenantBindingDefinition: CustomResourceDefinition = definitionOf({
  group: type.group,
  version: type.version,
  kind,
  plural: type.resource,
  columns: [
    conditionColumn('Applied', 'status'),
    conditionColumn('Complete', 'status'),
    column('Clusters', '.status.summary.applied'),
    column('Author', '.status.author', 'wide'),
    column('Expires', '.spec.expiresAt', 'wide'),
  ],
  spec: record(
    {
      subjects: list(subject, some),
      grants: list(grant, { minItems: 1, maxItems: 32 }),
      clusters: record({
        all: flag,
        names: list(name, { maxItems: 1024 }),
        selector,
        placements: list(record({ namespace, name }, 'namespace', 'name'), { maxItems: 32 }),
      }),
      prune: { ...flag, default: true },
      expiresAt: time,
    },
    'subjects',
    'grants',
    'clusters',
  ),
  required: ['spec'],
  status: record({
    observedGeneration: { type: 'integer', format: 'int64' },
    author: text,
    summary: record({ applied: text, total: count, pending: count, errors: count }),
    clusters: list(cluster),
    conditions,
  }),
});
