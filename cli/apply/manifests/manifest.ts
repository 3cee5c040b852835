// The type of one object in a manifest, and functions that say how messages name it and in which phase it is applied.
import { groupKindOf } from '../../../lib/objects/group-kind.ts';

/** One object to apply. Its text is shared by all clusters. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Namespace in the manifest; '' when it names none. */
  readonly namespace: string;
  /** The whole object as JSON. */
  readonly body: string;
  /** The file that contains the manifest, for messages. */
  readonly source: string;
}

/** An object as kubectl names it in its output: `deployment.apps/web`. */
export function objectName(object: Pick<Manifest, 'apiVersion' | 'kind' | 'name'>): string {
  return `${groupKindOf(object).toLowerCase()}/${object.name}`;
}

/** Phase in which an object is applied: Namespaces, then CustomResourceDefinitions, then everything else. */
export function phaseOf(object: Pick<Manifest, 'apiVersion' | 'kind'>): 0 | 1 | 2 {
  const groupKind = groupKindOf(object);
  if (groupKind === 'Namespace') return 0;
  return groupKind === 'CustomResourceDefinition.apiextensions.k8s.io' ? 1 : 2;
}

/**
 * A key that two manifests share when they describe the same object in a cluster. It has kind, group, namespace and
 * name, but not the version.
 */
export function identityOf(object: Pick<Manifest, 'apiVersion' | 'kind' | 'name'>, namespace: string): string {
  return `${groupKindOf(object)}/${namespace}/${object.name}`;
}
