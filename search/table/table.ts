// Makes tables with the columns and cells that kube-apiserver would send, and a column for the cluster in front. Every
// object gets a row, also one with unexpected content: one odd object of a member cluster must not break the whole
// list.
import { typeKey, type TypeInfo } from '../types.ts';
import { customColumns, customPrinter, type CustomPrinter } from './custom-columns.ts';
import { parseExact } from '../../lib/json/exact-json.ts';
import {
  agesAt,
  createdDescription,
  nameDescription,
  type Ages,
  type Cell,
  type KubeObject,
  type Printer,
  type Printers,
  type RowCondition,
  type TableColumn,
} from './printer.ts';
import { accessPrinters } from './printers/access.ts';
import { clusterPrinters } from './printers/cluster.ts';
import { corePrinters } from './printers/core.ts';
import { devicePrinters } from './printers/devices.ts';
import { networkPrinters } from './printers/network.ts';
import { podPrinters } from './printers/pods.ts';
import { storagePrinters } from './printers/storage.ts';
import { workloadPrinters } from './printers/workloads.ts';

/** The object of which a row is made, with the name of its cluster. */
export interface TableSource {
  readonly cluster: string;
  /** The JSON bytes of the object. */
  readonly raw: Uint8Array;
}

/** The same as meta.k8s.io/v1 TableRow without `object`. JSON.stringify gives the JSON for the answer. */
export interface TableRow {
  readonly cells: readonly Cell[];
  readonly conditions?: readonly RowCondition[];
}

/** The columns of a type, and how to make its rows. */
export interface Table {
  readonly columns: readonly TableColumn[];
  /** Never throws. A cell that cannot be made is null. */
  row(source: TableSource): TableRow;
}

const clusterColumn: TableColumn = {
  name: 'Cluster',
  type: 'string',
  format: '',
  description: 'Name of the cluster that the object is in.',
  priority: 0,
};

const createdColumns: readonly TableColumn[] = [
  { name: 'Name', type: 'string', format: 'name', description: nameDescription, priority: 0 },
  { name: 'Created At', type: 'date', format: '', description: createdDescription, priority: 0 },
];

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
 * The table of one type in one version.
 * @param version for a custom type, the version whose columns are shown
 * @param nowMs the time of the answer in Unix milliseconds; ages are relative to it
 */
export function tableOf(type: TypeInfo, version: string, nowMs: number): Table {
  const custom = type.printerColumns;
  if (custom !== undefined) {
    const printer = customPrinter(Object.hasOwn(custom, version) ? custom[version]! : []);
    return withCluster(customColumns(printer), (object) => customRow(printer, object, agesAt(nowMs)));
  }
  const key = typeKey(type);
  const printer = Object.hasOwn(builtIn, key) ? builtIn[key]! : undefined;
  if (printer === undefined) return withCluster(createdColumns, createdRow);
  return withCluster(printer.columns, (object) => builtInRow(printer, object, agesAt(nowMs)));
}

const collectionColumns: readonly TableColumn[] = ['Group', 'Version', 'Kind', 'Namespace', 'Name', 'Age'].map(
  (name) => ({
    name,
    type: 'string',
    format: name === 'Name' ? 'name' : '',
    description: name === 'Name' ? nameDescription : name === 'Age' ? createdDescription : `${name} of the object.`,
    priority: 0,
  }),
);

/** The table of a list with objects of several types, as in Clusterpedia's collections. */
export function collectionTable(nowMs: number): Table {
  return withCluster(collectionColumns, (object) => {
    const { apiVersion = '', kind = '' } = object as { readonly apiVersion?: string; readonly kind?: string };
    const slash = apiVersion.indexOf('/');
    const { namespace = '', name = '' } = object.metadata ?? {};
    const age = agesAt(nowMs).of(object);
    return {
      cells: [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind, namespace, name, age],
    };
  });
}

function withCluster(columns: readonly TableColumn[], cellsOf: (object: KubeObject) => TableRow): Table {
  return {
    columns: [clusterColumn, ...columns],
    row({ cluster, raw }) {
      let object: KubeObject | undefined;
      try {
        object = parseExact(raw) as KubeObject;
        const { cells, ...rest } = cellsOf(object);
        return { cells: [cluster, ...cells], ...rest };
      } catch {
        const name = object?.metadata?.name;
        return { cells: [cluster, typeof name === 'string' ? name : null, ...columns.slice(1).map(() => null)] };
      }
    },
  };
}

function builtInRow({ cells, conditions }: Printer, object: KubeObject, ages: Ages): TableRow {
  const found = conditions?.(object) ?? [];
  return { cells: cells(object, ages), ...(found.length === 0 ? {} : { conditions: found }) };
}

function createdRow({ metadata }: KubeObject): TableRow {
  return { cells: [metadata?.name ?? '', metadata?.creationTimestamp ?? null] };
}

function customRow(printer: CustomPrinter, object: KubeObject, ages: Ages): TableRow {
  return { cells: [object.metadata?.name ?? '', ...printer.map(({ cell }) => cell(object, ages))] };
}
