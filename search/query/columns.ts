// The short names of fields that every object has. The parameters `fields`, `filter` and `orderby`, and `by` of facets
// and values, accept them in place of a path. A field with such a name at the top of an object can be reached with a
// leading dot (`.name`).
import { clusterAnnotation } from '../types.ts';
import type { PathStep } from '../../lib/json/raw-json.ts';
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

/** Looks up a short field name such as `namespace`. @returns undefined when the text is none of them */
export function readColumn(text: string): Column | undefined {
  return columns.find((column) => column === text);
}

/**
 * Reads a field that is given by its short name (`name`, `cluster` and so on) or as a path.
 * @throws GatewayError BAD_REQUEST for an invalid path
 */
export function readColumnPath(text: string, mayEndInList: boolean): readonly PathStep[] {
  const column = readColumn(text);
  return parsePath(column === undefined ? text : paths[column], mayEndInList);
}

/** The short name of the field at this path, in whichever way the path was written; undefined when it has none. */
export function columnOf(path: readonly PathStep[]): Column | undefined {
  const printed = printPath(path);
  return columns.find((column) => paths[column] === printed);
}
