// Short names of fields that every object has. `fields`, `filter`, `orderby` and the `by` of facets and values all read
// this table; a field of such a name at the top of an object is written with a dot (`.name`).
import { clusterAnnotation } from '../types.ts';
import type { PathStep } from '../../lib/json/path-step.ts';
import { parsePath, printPath } from './path.ts';

const paths = {
  cluster: `metadata.annotations['${clusterAnnotation}']`,
  namespace: 'metadata.namespace',
  name: 'metadata.name',
  created_at: 'metadata.creationTimestamp',
  resource_version: 'metadata.resourceVersion',
} as const;

export type Column = keyof typeof paths;

export const columns = Object.keys(paths) as readonly Column[];

/** @returns undefined for a text that is no column */
export function readColumn(text: string): Column | undefined {
  return columns.find((column) => column === text);
}

/** The path of a column, or a path as {@link parsePath} reads it. @throws GatewayError BAD_REQUEST as that does */
export function readColumnPath(text: string, mayEndInList: boolean): readonly PathStep[] {
  const column = readColumn(text);
  return parsePath(column === undefined ? text : paths[column], mayEndInList);
}

/** The column that a path is of, however it is written; undefined for another path. */
export function columnOf(path: readonly PathStep[]): Column | undefined {
  const printed = printPath(path);
  return columns.find((column) => paths[column] === printed);
}
