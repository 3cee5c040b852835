// The short names of fields that every object has. The parameters `fields`, `filter` and `orderby`, and `by` of facets
// and values, accept a short name in place of a path. When an object has a field at its top that is called like a short
// name, a leading dot makes the text a path to that field (`.name`).
import { clusterAnnotation } from './types.ts';
import type { PathStep } from '../lib/json/raw-json.ts';
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

/**
 * Looks up a short field name such as `namespace`.
 * @returns undefined when the text is not a short name
 */
export function readColumn(text: string): Column | undefined {
  return columns.find((column) => column === text);
}

/**
 * Reads a field that is given by its short name (`name`, `cluster` and so on) or as a path.
 * @param mayEndInList whether the last step of the path may be `[]` or `[0]`
 * @throws GatewayError BAD_REQUEST for an invalid path
 */
export function readColumnPath(text: string, mayEndInList: boolean): readonly PathStep[] {
  const column = readColumn(text);
  return parsePath(column === undefined ? text : paths[column], mayEndInList);
}

/** The short name of the field at this path, however the path was written; undefined when the field has none. */
export function columnOf(path: readonly PathStep[]): Column | undefined {
  const printed = printPath(path);
  return columns.find((column) => paths[column] === printed);
}
