// The short names of fields that every object has. The parameters `fields`, `filter` and `orderby`, and `by` of facets
// and values, accept them in place of a path. A field with such a name at the top of an object can be reached with a
// leading dot (`.name`).
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

/** @returns the column of this name; undefined when there is none */
export function readColumn(text: string): Column | undefined {
  return columns.find((column) => column === text);
}

/**
 * Reads the name of a column, or else a path as {@link parsePath} does.
 * @throws GatewayError BAD_REQUEST for an invalid path
 */
export function readColumnPath(text: string, mayEndInList: boolean): readonly PathStep[] {
  const column = readColumn(text);
  return parsePath(column === undefined ? text : paths[column], mayEndInList);
}

/** The column that has this path, in whichever way the path was written; undefined when no column has it. */
export function columnOf(path: readonly PathStep[]): Column | undefined {
  const printed = printPath(path);
  return columns.find((column) => paths[column] === printed);
}
