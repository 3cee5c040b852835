// Chooses the columns of a resource (kubernetes pkg/printers/internalversion/printers.go). Those of a custom resource
// come from its CustomResourceDefinition. Only if that has no columns, Age is added.
import type { Resource } from '../store/resources.ts';
import type { Column } from './column.ts';
import { accessColumns } from './access.ts';
import { coreColumns } from './core.ts';
import { customColumns } from './custom.ts';
import { networkColumns } from './network.ts';
import { podColumns } from './pods.ts';
import { workloadColumns } from './workloads.ts';

const byKey: Readonly<Record<string, readonly Column[]>> = {
  '/pods': podColumns,
  ...coreColumns,
  ...workloadColumns,
  ...networkColumns,
  ...accessColumns,
};

/** The columns of a resource. Undefined when its table only has name and creation time. */
export function columnsFor(resource: Resource): readonly Column[] | undefined {
  return resource.definition === undefined ? byKey[resource.key] : customColumns(resource);
}
