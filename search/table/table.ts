// Columns and cells of objects as kube-apiserver's Tables have them, the cluster first. An object of any shape gives a
// row: one member's odd object must not break the list of all.
import { parseExact } from '../../lib/json/exact-json.ts';
import {
  agesAt,
  createdDescription,
  nameDescription,
  type KubeObject,
  type TableColumn,
} from '../../tables/printer.ts';
import { rowsOfCustomType, rowsOfType, type TableRow } from '../../tables/rows.ts';
import type { TypeInfo } from '../types.ts';

/** What a row is made from. */
export interface TableSource {
  readonly cluster: string;
  /** JSON of the object. */
  readonly raw: Uint8Array;
}

/** Columns and rows of one type. */
export interface Table {
  readonly columns: readonly TableColumn[];
  /** Never throws: cells that cannot be made are null. */
  row(source: TableSource): TableRow;
}

const clusterColumn: TableColumn = {
  name: 'Cluster',
  type: 'string',
  format: '',
  description: 'Name of the cluster that the object is in.',
  priority: 0,
};

/**
 * The table of one type in one version, at one moment.
 * @param version whose columns are shown, of a custom type
 * @param nowMs Unix milliseconds that ages are counted to
 */
export function tableOf(type: TypeInfo, version: string, nowMs: number): Table {
  const custom = type.printerColumns;
  const { columns, row } =
    custom === undefined
      ? rowsOfType(type.group, type.resource)
      : rowsOfCustomType(Object.hasOwn(custom, version) ? custom[version]! : []);
  return withCluster(columns, (object) => row(object, nowMs));
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

/** The table of objects of several types (Clusterpedia's collections). */
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
