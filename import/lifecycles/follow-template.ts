// Updates labels, annotations and some fields of a PediaCluster from the template, beyond address and credentials, if
// its ClusterImportPolicy asks for that. An annotation records which labels and annotations come from the template, so
// that those that somebody else has set stay.
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../../kube/types.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import type { PediaClusterBody } from '../render/pedia-cluster-body.ts';

/**
 * Annotation of a PediaCluster with the keys of labels and annotations that come from the template: `{"labels": [keys],
 * "annotations": [keys]}`.
 */
const ownKeys = 'import.portcullis.io/from-template';
const specFields = ['syncResources', 'syncAllCustomResources', 'syncResourcesRefName'] as const;

/**
 * Returns the annotations of a new PediaCluster that will be updated from its template: those that the template prints,
 * and one that records the template's keys.
 */
export function followedAnnotations({ labels, annotations }: PediaClusterBody): Readonly<Record<string, string>> {
  const keys = { labels: Object.keys(labels).toSorted(), annotations: Object.keys(annotations).toSorted() };
  return { ...annotations, [ownKeys]: JSON.stringify(keys) };
}

/** Returns a merge patch with all differences between PediaCluster and template; undefined when there are none. */
export function templatePatch(
  cluster: ApiObject,
  body: PediaClusterBody,
): { readonly metadata: object; readonly spec: object } | undefined {
  const { labels: present = {}, annotations: noted = {} } = cluster.metadata;
  const before = keysIn(noted[ownKeys]);
  const labels = differences(present, body.labels, before.labels);
  const annotations = differences(noted, followedAnnotations(body), before.annotations);
  const spec = Object.fromEntries(
    specFields
      .map((field) => [field, body.spec[field] ?? null] as const)
      // The type of PediaClusters requires `syncResources`. If the template prints no such list, the old list stays.
      .filter(([field, wanted]) => wanted !== null || field !== 'syncResources')
      .filter(([field, wanted]) => !isDeepStrictEqual(fieldOf(cluster, 'spec', field) ?? null, wanted)),
  );
  if ([labels, annotations, spec].every((each) => Object.keys(each).length === 0)) return undefined;
  return { metadata: { labels, annotations }, spec };
}

/**
 * Returns a merge patch for labels or annotations: the values to set, and null for keys that came from the template
 * earlier and are no longer printed.
 */
function differences(
  present: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
  own: readonly string[],
): Readonly<Record<string, string | null>> {
  const gone = own.filter((key) => !Object.hasOwn(wanted, key) && Object.hasOwn(present, key));
  const set = Object.entries(wanted).filter(([key, value]) => present[key] !== value);
  return Object.fromEntries([...gone.map((key) => [key, null] as const), ...set]);
}

function keysIn(text: string | undefined): Readonly<Record<'labels' | 'annotations', readonly string[]>> {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '');
  } catch {
    value = undefined;
  }
  const list = (field: string): readonly string[] => {
    const keys = fieldOf(value, field);
    return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
  };
  return { labels: list('labels'), annotations: list('annotations') };
}
