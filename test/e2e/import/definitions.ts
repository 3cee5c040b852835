// CustomResourceDefinitions of programs that leave clusters on a hub, each with whatever fields.
import { anything, customResource } from '../../site/custom-resource.ts';

/** @param name `plural.group` */
export function openDefinition(
  name: string,
  kind: string,
  scope: 'Cluster' | 'Namespaced',
  ...versions: readonly string[]
): object {
  const properties = { spec: anything, status: anything };
  return customResource(name, kind, { scope, versions, schema: { type: 'object', properties } });
}
