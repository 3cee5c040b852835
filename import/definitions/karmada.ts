// Karmada's ResourceRegistry as a CustomResourceDefinition, for hubs that send requests for search.karmada.io/v1alpha1
// to the gateway. The fields are Karmada's. The version differs from v1alpha1, since the gateway itself serves v1alpha1
// as an aggregated API.
import {
  registryGroup,
  registryPlural,
  storedRegistryVersion,
} from '../../cache/sources/objects/karmada-registries.ts';
import { conditionColumn, conditions, definitionOf, list, record, text, type Schema } from './schema.ts';

const texts = list(text);
const expressions = list(record({ key: text, operator: text, values: texts }, 'key', 'operator'));
const labels: Schema = { type: 'object', additionalProperties: text };

export const resourceRegistryDefinition = definitionOf({
  group: registryGroup,
  version: storedRegistryVersion,
  kind: 'ResourceRegistry',
  plural: registryPlural,
  columns: [conditionColumn('Accepted', 'status'), conditionColumn('Indexed', 'status')],
  spec: record({
    targetCluster: record({
      labelSelector: record({ matchLabels: labels, matchExpressions: expressions }),
      fieldSelector: record({ matchExpressions: expressions }),
      clusterNames: texts,
      exclude: texts,
    }),
    resourceSelectors: list(record({ apiVersion: text, kind: text, namespace: text }, 'apiVersion', 'kind')),
    backendStore: record({
      openSearch: record({ addresses: texts, secretRef: record({ namespace: text, name: text }) }),
    }),
  }),
  status: record({ conditions }),
});
