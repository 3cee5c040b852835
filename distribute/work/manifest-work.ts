// ManifestWork and AppliedManifestWork of OCM's API: names of the types, and functions that read the parts of a work.
import { textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import type { ServedKind } from '../../kube/discovery/documents.ts';
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { isGroup, isKind, isLabel, isName } from '../../lib/objects/api-names.ts';
import { groupKindOf } from '../../lib/objects/group-kind.ts';

const group = 'work.open-cluster-management.io';
export const workApiVersion = `${group}/v1`;
export const manifestWorks: ResourceType = { group, version: 'v1', resource: 'manifestworks' };
/** An AppliedManifestWork is an object on the member that records what was applied for one ManifestWork. */
export const appliedWorks: ResourceType = { group, version: 'v1', resource: 'appliedmanifestworks' };

export const workFinalizer = 'cluster.open-cluster-management.io/manifest-work-cleanup';
export const appliedWorkFinalizer = 'cluster.open-cluster-management.io/applied-manifest-work-cleanup';
/** Label of ManifestWorks that a ManifestWorkReplicaSet has made. */
export const replicaSetLabel = `${group}/manifestworkreplicaset`;

/** Prefix of the gateway's own annotations and condition types. */
export const ownPrefix = 'gateway.portcullis.io/';

/**
 * Annotation of a ManifestWork by which a person allows the deletion of any number of objects. Its value is the
 * generation of the work to which that applies.
 */
export const allowPruneAnnotation = `${ownPrefix}allow-prune`;

/** Identifies the object of one manifest: an entry of `status.resourceStatus.manifests[].resourceMeta`. */
export interface ResourceMeta {
  /** Index in `spec.workload.manifests`. */
  readonly ordinal: number;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural name of the type; '' while the member does not serve the kind. */
  readonly resource: string;
  readonly name: string;
  /** Namespace of the object; '' for kinds without namespaces. */
  readonly namespace: string;
}

/** Reads the group, version, kind and name of a manifest. `ordinal` is its index in the ManifestWork. */
export function metaOf(ordinal: number, manifest: JsonObject): ResourceMeta {
  const [group, version] = splitApiVersion(textAt(manifest, 'apiVersion'));
  return {
    ordinal,
    group,
    version,
    kind: textAt(manifest, 'kind'),
    resource: '',
    name: textAt(manifest, 'metadata', 'name'),
    namespace: textAt(manifest, 'metadata', 'namespace'),
  };
}

/**
 * Why a manifest does not describe exactly one object, as a message for its author; undefined when it does. For example
 * without a name: a request path without a name would mean all objects of the kind.
 */
export function faultOfMeta({ group, version, kind, name, namespace }: ResourceMeta): string | undefined {
  if (!isGroup(group) || !isLabel(version)) return 'apiVersion must be VERSION or GROUP/VERSION';
  if (!isKind(kind)) return 'kind must be the kind of an object';
  if (name === '')
    return 'metadata.name is missing; generateName is not supported, since each reconcile would make another one';
  if (!isName(name)) return 'metadata.name cannot be the name of an object';
  return namespace === '' || isLabel(namespace) ? undefined : 'metadata.namespace cannot be the name of a namespace';
}

/**
 * Finds the kind of a manifest among those that a member serves, and returns the manifest's `meta` with the plural name
 * of the kind; undefined while the member does not serve it. @throws as {@link RestMapper.find}
 */
export async function placed(
  meta: ResourceMeta,
  kinds: Pick<RestMapper, 'find'>,
): Promise<{ readonly meta: ResourceMeta; readonly kind: ServedKind } | undefined> {
  const kind = await kinds.find(meta.group, meta.version, meta.kind);
  if (kind === undefined) return undefined;
  return { kind, meta: { ...meta, resource: kind.resource, namespace: kind.namespaced ? meta.namespace : '' } };
}

export function splitApiVersion(apiVersion: string): readonly [group: string, version: string] {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}

/**
 * Key of an object in one cluster. The key has no version, so that the object has the same key in every version of its
 * kind.
 */
export function objectKey({ group, resource, namespace, name }: Omit<ResourceMeta, 'ordinal' | 'kind' | 'version'>) {
  return `${resource}.${group}/${namespace}/${name}`;
}

/** Returns the kind of an object with its group, such as `Deployment.apps`. */
export function groupKindIn(object: JsonObject): string {
  return groupKindOf({ apiVersion: textAt(object, 'apiVersion'), kind: textAt(object, 'kind') });
}
