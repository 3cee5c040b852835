// The type ClusterJoin as a CustomResourceDefinition, which is installed on the hub.
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
import { clusterJoins, defaultMemberNamespace, joinKind } from './cluster-join.ts';

const namespace: Schema = { ...text, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' };
const name: Schema = { ...text, minLength: 1, maxLength: 253 };
const names: Schema = list({ ...text, minLength: 1, maxLength: 253 }, { maxItems: 512 });
/**
 * Names of users or groups. An empty list is refused, because RBAC reads an empty list of resourceNames as all names.
 */
const someNames: Schema = { ...names, minItems: 1 };
const object: Schema = record({ apiVersion: text, kind: text, namespace: text, name: text, uid: text });

export const clusterJoinDefinition: CustomResourceDefinition = definitionOf({
  group: clusterJoins.group,
  version: clusterJoins.version,
  kind: joinKind,
  plural: clusterJoins.resource,
  columns: [
    conditionColumn('Ready', 'status'),
    conditionColumn('Reason', 'reason'),
    column('Server', '.status.server'),
    column('Expires', '.status.credential.expiresAt', 'wide'),
  ].map((each) =>
    each.name === 'Reason' ? { ...each, jsonPath: ".status.conditions[?(@.type == 'Ready')].reason" } : each,
  ),
  spec: record(
    {
      bootstrapKubeconfigSecret: record(
        { namespace, name, key: { ...text, default: 'kubeconfig' } },
        'namespace',
        'name',
      ),
      deleteBootstrapSecret: { ...flag, default: true },
      memberNamespace: { ...namespace, default: defaultMemberNamespace },
      impersonate: record({ users: someNames, groups: someNames, extras: names }),
      index: { ...flag, default: false },
      bundle: record({ namespace, name }, 'namespace', 'name'),
      tokenTTL: { ...text, default: '24h', pattern: '^([0-9]+(h|m|s))+$' },
      allowAlias: { ...flag, default: false },
      adopt: { ...flag, default: false },
      executeWorks: { ...flag, default: false },
      managedCluster: { ...flag, default: false },
      deregisterPolicy: { ...text, default: 'Wait', pattern: '^(Wait|ForceAfter:([0-9]+(h|m|s))+)$' },
    },
    'bootstrapKubeconfigSecret',
  ),
  required: ['spec'],
  validations: [
    {
      rule: 'self.metadata.name.size() <= 63 && !self.metadata.name.contains(".")',
      message: 'the name of a ClusterJoin is the name of its cluster: at most 63 characters, without dots',
    },
    {
      rule: 'self.spec.memberNamespace == oldSelf.spec.memberNamespace',
      message: 'memberNamespace cannot be changed; delete the ClusterJoin and create another one',
    },
  ],
  status: record({
    conditions,
    clusterUID: text,
    server: text,
    caBundle: text,
    installedHash: text,
    credential: record({ issuedAt: time, expiresAt: time, rotateAt: time }),
    installed: list(object),
    remaining: list(text),
    leftBehind: list(object),
  }),
});
