// Makes tables with the columns and cells that kube-apiserver would send, and a column for the cluster in front. Every
// object gets a row, also one with unexpected content: one odd object of a member cluster must not break the whole
// list.
import { parseExact } from '../../lib/json/exact-json.ts';
import {
  agesAt,
  createdDescription,
  nameDescription,
  type KubeObject,
  type TableColumn,
} from '../../tables/printers/printer.ts';
import { rowsOfCustomType, rowsOfType, type TableRow } from '../../tables/rows.ts';
import type { TypeInfo } from '../../query/types.ts';

/** The object of which a row is made, with the name of its cluster. */
export interface TableSource {
  readonly cluster: string;
  /** The JSON bytes of the object. */
  readonly raw: Uint8Array;
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

/**
 * The table of one type in one version.
 * @param version for a custom type, the version whose columns are shown
 * @param nowMs the time of the answer in Unix milliseconds; ages are relative to it
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
