// Which columns a resource has, by storage key (kubernetes pkg/printers/internalversion/printers.go). A custom
// resource's columns come from its definition, and Age is added only when it names none at all.
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

/** The columns of a resource, or undefined when it has only a name and a date. */
export function columnsFor(resource: Resource): readonly Column[] | undefined {
  return resource.definition === undefined ? byKey[resource.key] : customColumns(resource);
}
