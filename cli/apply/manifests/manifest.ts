// The type of one object in a manifest, and functions that give its name for messages and the phase in which it is
// applied.
import { groupKindOf } from '../../../lib/objects/group-kind.ts';

/** One object to apply. All clusters share its text. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Namespace in the manifest; '' when it names none. */
  readonly namespace: string;
  /** The whole object as JSON. */
  readonly body: string;
  /** The file or folder that the manifest was read from, for messages. */
  readonly source: string;
}

/** An object as kubectl names it in its output: `deployment.apps/web`. */
export function objectName(object: Pick<Manifest, 'apiVersion' | 'kind' | 'name'>): string {
  return `${groupKindOf(object).toLowerCase()}/${object.name}`;
}

/**
 * Returns the phase in which an object is applied: 0 for Namespaces, 1 for CustomResourceDefinitions, 2 for all others.
 */
export function phaseOf(object: Pick<Manifest, 'apiVersion' | 'kind'>): 0 | 1 | 2 {
  const groupKind = groupKindOf(object);
  if (groupKind === 'Namespace') return 0;
  return groupKind === 'CustomResourceDefinition.apiextensions.k8s.io' ? 1 : 2;
}

/**
 * Returns a key that two manifests share when they describe the same object in a cluster: kind, group, namespace and
 * name. The version is left out, because one object can be written in several versions.
 */
export function identityOf(object: Pick<Manifest, 'apiVersion' | 'kind' | 'name'>, namespace: string): string {
  return `${groupKindOf(object)}/${namespace}/${object.name}`;
}
