// Defines CollectionResource, whose objects say which types a collection of the index has. The fields are those of
// Clusterpedia's CollectionResource. The API group is not Clusterpedia's clusterpedia.io, since an aggregated API
// serves that group, and a CustomResourceDefinition cannot add to it.
import { collectionGroup, collectionPlural, collectionVersion } from '../collections/collection-status.ts';
import {
  conditionColumn,
  conditions,
  definitionOf,
  list,
  record,
  text,
  type CustomResourceDefinition,
} from './schema.ts';

const resourceType = record(
  {
    group: { ...text, description: 'API group; empty for the core group, "*" for all' },
    version: { ...text, description: 'version in which objects are shown; empty for the one that is kept' },
    kind: { ...text, description: 'for people; not read' },
    resource: { ...text, minLength: 1, description: 'plural name, or "*" for the whole group' },
  },
  'resource',
);

export const collectionDefinition: CustomResourceDefinition = definitionOf({
  group: collectionGroup,
  version: collectionVersion,
  kind: 'CollectionResource',
  plural: collectionPlural,
  columns: [conditionColumn('Accepted', 'status'), conditionColumn('Indexed', 'status')],
  fields: { resourceTypes: list(resourceType, { minItems: 1, maxItems: 256 }) },
  required: ['resourceTypes'],
  status: record({ conditions }),
  validations: [
    {
      rule: "!(self.metadata.name in ['any', 'workloads', 'kuberesources'])",
      message: 'any, workloads and kuberesources are built in',
    },
  ],
});
