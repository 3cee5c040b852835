// The Kubernetes API as the console uses it: paths of the gateway's API, kinds, and the fields of objects that the
// console reads.
import { address, encodeSegment } from './route.ts';

const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';

/**
 * Paths of the gateway's public API. `copies` is the index as a Kubernetes API, `everyCluster` sends one request to all
 * clusters.
 */
export const paths = {
  index,
  copies: `${index}/proxy`,
  clusters: '/apis/gateway.portcullis.io/v1alpha1/clusters',
  everyCluster: '/clusters/*/proxy',
  cluster: (name: string): string => `/clusters/${encodeURIComponent(name)}/proxy`,
} as const;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

/** A Kubernetes object of any kind. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** A resource type that the API of the gateway or of a cluster serves. */
export interface Kind {
  /** The name in the address bar and in kubectl, such as `pods` or `deployments.apps`. */
  readonly id: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
}

const clusterAnnotation = 'shadow.clusterpedia.io/cluster-name';

/**
 * Returns the cluster of an object, from the annotation that the gateway adds in lists over clusters; '' when there is
 * none.
 */
export function clusterOf(metadata: Metadata): string {
  return metadata.annotations?.[clusterAnnotation] ?? '';
}

/** Returns the API path of a group and version: `/api/v1` or `/apis/apps/v1`. */
export function groupPath(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/**
 * Returns the address of an object's page in the console: `/console/c/CLUSTER/`, followed by the object's path in the
 * API of its cluster.
 */
export function objectAddress(
  cluster: string,
  kind: Kind,
  metadata: Pick<Metadata, 'name' | 'namespace'>,
  query = {},
): string {
  return address(segmentsOf(cluster, kind, metadata), query);
}

function segmentsOf(
  cluster: string,
  { group, version, plural, namespaced }: Kind,
  { name, namespace }: Pick<Metadata, 'name' | 'namespace'>,
): readonly string[] {
  const root = group === '' ? ['api'] : ['apis', group];
  const inside = namespaced && namespace !== undefined ? ['namespaces', namespace] : [];
  return ['c', cluster, ...root, version, ...inside, plural, name];
}

/** Identifies one object of one cluster by the parts of its page's address. */
export interface ObjectPlace {
  readonly cluster: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/**
 * Matches a segment that Kubernetes does not allow in a path (`path.IsValidPathSegmentName` of apimachinery). Security:
 * with `..` or an encoded slash, a link that names one cluster would read and change objects of another.
 */
const notASegment = /^\.{0,2}$|[/%\\\p{Cc}]/u;

/** Names of API groups, versions and resources: DNS subdomains and labels (RFC 1123), which need no encoding. */
const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const forms = {
  group: new RegExp(`^${label}(?:\\.${label})*$`),
  version: new RegExp(`^${label}$`),
  plural: new RegExp(`^${label}$`),
} as const;

/**
 * Reads an object's page address without /console/, such as `c/CLUSTER/api/v1/namespaces/NS/pods/NAME`; undefined for
 * other addresses.
 */
export function readObjectPlace(segments: readonly string[]): ObjectPlace | undefined {
  if (segments.some((segment) => notASegment.test(segment))) return undefined;
  const [c, cluster, root, ...rest] = segments;
  if (c !== 'c' || cluster === undefined || (root !== 'api' && root !== 'apis')) return undefined;
  const group = root === 'api' ? '' : rest.shift();
  const version = rest.shift();
  const namespace = rest.length === 4 && rest[0] === 'namespaces' ? rest[1] : undefined;
  const [plural, name, more] = namespace === undefined ? rest : rest.slice(2);
  if (group === undefined || version === undefined || plural === undefined || name === undefined || more !== undefined)
    return undefined;
  if (root === 'apis' && !forms.group.test(group)) return undefined;
  if (!forms.version.test(version) || !forms.plural.test(plural)) return undefined;
  return { cluster, group, version, plural, namespace, name };
}

/**
 * The place of an object that another object names, such as its owner; undefined when Kubernetes allows no object with
 * these names. Security: API servers accept any text as the name of an owner, and the console requests owners without a
 * click of the user, so a bad name could lead the request to another path.
 */
export function placeOf(
  cluster: string,
  kind: Kind,
  metadata: Pick<Metadata, 'name' | 'namespace'>,
): ObjectPlace | undefined {
  return readObjectPlace(segmentsOf(cluster, kind, metadata));
}

/**
 * Whether an API server's answer is the object that the page's address names. Security: a person may only delete the
 * object that they were shown, so a list or another object is not accepted.
 */
export function isAt({ group, version, namespace, name }: ObjectPlace, object: KubeObject): boolean {
  const { metadata } = object;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return (
    object.apiVersion === apiVersion &&
    object['items'] === undefined &&
    (metadata.uid ?? '') !== '' &&
    metadata.name === name &&
    (metadata.namespace ?? '') === (namespace ?? '')
  );
}

export function pathOfPlace({ group, version, plural, namespace, name }: ObjectPlace): string {
  const parent = groupPath(encodeSegment(group), encodeSegment(version));
  const inside = namespace === undefined ? '' : `/namespaces/${encodeSegment(namespace)}`;
  return `${parent}${inside}/${encodeSegment(plural)}/${encodeSegment(name)}`;
}

/**
 * Returns the time since `since` as kubectl writes it: `12s`, `5m`, `3h12m`, `2d9h`, `41d`; '' when `since` is missing
 * or no date.
 */
export function age(since: string | undefined, nowMs = Date.now()): string {
  if (since === undefined) return '';
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(since)) / 1000));
  if (Number.isNaN(seconds)) return '';
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (days < 2) return `${hours}h`;
  if (days < 8) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 730) return `${days}d`;
  return `${Math.floor(days / 365)}y`;
}
