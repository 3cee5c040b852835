// Makes the columns and rows of `meta.k8s.io/v1` Tables as kube-apiserver does: for built-in types (Kubernetes
// pkg/printers/internalversion), for custom resources by their CRD, and for any other type the name and the creation
// date.
import { customColumns, customPrinter } from './custom-columns.ts';
import { ValueBudget } from './printer-path.ts';
import type { PrinterColumn } from './printer-column.ts';
import {
  agesAt,
  createdDescription,
  nameDescription,
  type Cell,
  type KubeObject,
  type Printers,
  type RowCondition,
  type TableColumn,
} from './printers/printer.ts';
import { accessPrinters } from './printers/access.ts';
import { clusterPrinters } from './printers/cluster.ts';
import { corePrinters } from './printers/core.ts';
import { devicePrinters } from './printers/devices.ts';
import { networkPrinters } from './printers/network.ts';
import { podPrinters } from './printers/pods.ts';
import { storagePrinters } from './printers/storage.ts';
import { workloadPrinters } from './printers/workloads.ts';

/** meta.k8s.io/v1 TableRow without the field `object`. JSON.stringify gives the form that is sent to clients. */
export interface TableRow {
  readonly cells: readonly Cell[];
  readonly conditions?: readonly RowCondition[];
}

/** The columns of one type, and the function that makes the row for one of its objects. */
export interface RowMaker {
  readonly columns: readonly TableColumn[];
  /**
   * @param nowMs the present time in Unix milliseconds, from which ages are computed
   * @throws TypeError or RangeError for an object whose fields do not have the types that the printer expects
   */
  readonly row: (object: KubeObject, nowMs: number) => TableRow;
}

const createdColumns: readonly TableColumn[] = [
  { name: 'Name', type: 'string', format: 'name', description: nameDescription, priority: 0 },
  { name: 'Created At', type: 'date', format: '', description: createdDescription, priority: 0 },
];

const created: RowMaker = {
  columns: createdColumns,
  row: ({ metadata }) => ({ cells: [metadata?.name ?? '', metadata?.creationTimestamp ?? null] }),
};

const builtIn: Printers = {
  ...podPrinters,
  ...workloadPrinters,
  ...networkPrinters,
  ...corePrinters,
  ...storagePrinters,
  ...accessPrinters,
  ...clusterPrinters,
  ...devicePrinters,
};

/**
 * The columns and rows of a type that no CustomResourceDefinition defines. An unknown type has a name and a creation
 * date.
 * @param group API group; '' for the core group
 */
export function rowsOfType(group: string, resource: string): RowMaker {
  const key = `${resource}.${group}`;
  if (!Object.hasOwn(builtIn, key)) return created;
  const { columns, cells, conditions } = builtIn[key]!;
  return {
    columns,
    row: (object, nowMs) => {
      const found = conditions?.(object) ?? [];
      return { cells: cells(object, agesAt(nowMs)), ...(found.length === 0 ? {} : { conditions: found }) };
    },
  };
}

/**
 * The columns and rows of a custom resource.
 * @param columns its CRD's `additionalPrinterColumns`; when empty, the table has only the name and the age
 */
export function rowsOfCustomType(columns: readonly PrinterColumn[]): RowMaker {
  const printer = customPrinter(columns);
  return {
    columns: customColumns(printer),
    row: (object, nowMs) => {
      const ages = agesAt(nowMs);
      const budget = ValueBudget.ofAllPaths();
      return { cells: [object.metadata?.name ?? '', ...printer.map(({ cell }) => cell(object, ages, budget))] };
    },
  };
}
