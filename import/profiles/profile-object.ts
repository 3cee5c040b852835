// What a ClusterProfile says about a cluster (multicluster.x-k8s.io/v1alpha1, KEP-4322 and KEP-5339), made from the
// cluster's record. Security: anybody who may read the namespace sees the profile, so the profile holds no credential
// and not the cluster's own address; consumers reach the cluster through the gateway, as themselves.
import { fieldOf, textAt } from '../../lib/objects/json-object.ts';
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { conditionsOf, generationOf, withConditions } from '../../kube/objects/conditions.ts';
import type { Finding } from '../../kube/objects/conditions.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';

export const clusterProfiles: ResourceType = {
  group: 'multicluster.x-k8s.io',
  version: 'v1alpha1',
  resource: 'clusterprofiles',
};

/** Name of the gateway as cluster manager and as access provider in the ClusterProfiles that it writes. */
export const profileManager = 'portcullis';
const managerLabel = 'x-k8s.io/cluster-manager';
/** Annotation that names the Lease of the gateway that publishes a profile: a hub may have several gateways. */
const publisherAnnotation = 'gateway.portcullis.io/published-by';

/** How consumers of ClusterProfiles reach the gateway, and by what the gateway recognizes its own profiles. */
export interface Publisher {
  /** Namespace of the profiles. */
  readonly namespace: string;
  /** `NAMESPACE/NAME` of the Lease by which the gateway's replicas elect the one that writes the profiles. */
  readonly lease: string;
  /** Address of the gateway for consumers, without a slash at its end. */
  readonly address: string;
  /**
   * The certificate authority of the gateway in PEM, which is read anew at each call; undefined when the system's roots
   * verify the gateway.
   */
  ca(): string | undefined;
}

/** The status of a ClusterProfile, as far as the gateway writes it. */
interface ProfileStatus {
  /** Empty while the version is not known: then a merge patch leaves the one that was known last. */
  readonly version: { readonly kubernetes?: string };
  readonly properties: readonly { readonly name: string; readonly value: string }[];
  readonly accessProviders: readonly object[];
  /** The earlier name of `accessProviders`, with the same value, for consumers that do not know the new name. */
  readonly credentialProviders: readonly object[];
  readonly conditions: readonly object[];
}

/** Whether this gateway has made the profile. Profiles of others are never changed. */
export function isPublishedBy({ lease }: Publisher, profile: ApiObject): boolean {
  return (
    textAt(profile, 'spec', 'clusterManager', 'name') === profileManager &&
    textAt(profile, 'metadata', 'annotations', publisherAnnotation) === lease
  );
}

/** The new ClusterProfile of a cluster, without its status. */
export function newProfile(publisher: Publisher, record: ClusterRecord): object {
  return {
    apiVersion: `${clusterProfiles.group}/${clusterProfiles.version}`,
    kind: 'ClusterProfile',
    metadata: {
      name: record.spec.name,
      namespace: publisher.namespace,
      labels: { [managerLabel]: profileManager },
      annotations: { [publisherAnnotation]: publisher.lease },
    },
    spec: specOf(record),
  };
}

function specOf({ spec }: ClusterRecord): object {
  return { displayName: spec.originalName, clusterManager: { name: profileManager } };
}

/** A merge patch of what has to change in metadata and spec; undefined when nothing has to. */
export function profilePatch(record: ClusterRecord, profile: ApiObject): object | undefined {
  const labelled = textAt(profile, 'metadata', 'labels', managerLabel) === profileManager;
  if (labelled && isDeepStrictEqual(fieldOf(profile, 'spec'), specOf(record))) return undefined;
  return { metadata: { labels: { [managerLabel]: profileManager } }, spec: specOf(record) };
}

/**
 * The status to write, as a merge patch; undefined when the profile has it already. Fields of the status that the
 * gateway does not write stay.
 */
export function statusPatch(publisher: Publisher, record: ClusterRecord, profile: ApiObject): object | undefined {
  const access = [{ name: profileManager, cluster: accessTo(publisher, record) }];
  const { version } = record.status;
  const before = conditionsOf(profile);
  const wanted: ProfileStatus = {
    version: version === '' ? {} : { kubernetes: version },
    properties: propertiesOf(record),
    accessProviders: access,
    credentialProviders: access,
    conditions: withConditions(before, findingsOf(record), generationOf(profile)),
  };
  const status = fieldOf(profile, 'status');
  const { version: wantedVersion, ...others } = wanted;
  const isSame =
    (version === '' || isDeepStrictEqual(fieldOf(status, 'version'), wantedVersion)) &&
    Object.entries(others).every(([field, value]) => isDeepStrictEqual(fieldOf(status, field), value));
  return isSame ? undefined : wanted;
}

/** The `cluster` of a kubeconfig that leads to the cluster through the gateway. */
function accessTo({ address, ca }: Publisher, { spec }: ClusterRecord): object {
  const authority = ca();
  return {
    server: `${address}/clusters/${spec.name}/proxy`,
    ...(authority === undefined ? {} : { 'certificate-authority-data': Buffer.from(authority).toString('base64') }),
  };
}

/**
 * The properties of a ClusterProfile: the source and the labels of the cluster. An empty label is left out, since a
 * property's value must have 1 to 1024 characters.
 */
function propertiesOf({ spec }: ClusterRecord): ProfileStatus['properties'] {
  return Object.entries({ 'gateway.portcullis.io/source': spec.source, ...spec.labels })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => ({ name, value }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function findingsOf({ spec, status }: ClusterRecord): readonly Finding[] {
  const { problem } = spec;
  const available = status.conditions.find(({ type }) => type === 'Available');
  const healthy = { type: 'ControlPlaneHealthy' } as const;
  if (problem !== undefined) {
    const reported = { status: 'False', reason: problem.reason, message: problem.message } as const;
    return [
      { ...healthy, ...reported },
      { type: 'Joined', ...reported },
    ];
  }
  return [
    available === undefined
      ? { ...healthy, status: 'Unknown', reason: 'NotProbed', message: 'the gateway has not asked the cluster yet' }
      : { ...healthy, status: available.status, reason: available.reason, message: available.message },
    { type: 'Joined', status: 'True', reason: 'Registered', message: `known from ${spec.sourceDetail}` },
  ];
}
