// Reads ClusterJoin objects: the settings in the spec, and what the status remembers from one reconciliation to the
// next.
import { fieldOf, isJsonObject, listAt, textAt, textsAt } from '../../lib/objects/json-object.ts';
import { createHash } from 'node:crypto';
import type { ApiObject } from '../../kube/types.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { kubernetesExtraKeys } from '../../lib/rights/impersonation-rules.ts';
import { parseDuration } from '../../lib/duration.ts';

/**
 * The API group differs from the gateway's own group, gateway.portcullis.io: an aggregated API serves that group on the
 * hub, so a CustomResourceDefinition cannot add to it.
 */
export const clusterJoins: ResourceType = {
  group: 'join.portcullis.io',
  version: 'v1alpha1',
  resource: 'clusterjoins',
};
export const joinKind = 'ClusterJoin';
export const joinApiVersion = `${clusterJoins.group}/${clusterJoins.version}`;

/**
 * Finalizer of ClusterJoins, and of the ManagedClusters that are made for them. It is removed when the member has left.
 */
export const joinFinalizer = 'gateway.portcullis.io/join';
/**
 * Label of every object that is made for a ClusterJoin, on the hub and in the member. The value is the cluster's name.
 */
export const clusterLabel = 'gateway.portcullis.io/cluster';
/** Annotation of the same objects: the UID of the ClusterJoin. */
export const joinAnnotation = 'gateway.portcullis.io/join';
/**
 * Annotation of a ClusterJoin or ManagedCluster: types of conditions, separated by commas, that must all be True before
 * the cluster counts as ready.
 */
export const gatesAnnotation = 'gateway.portcullis.io/readiness-gates';

export const defaultMemberNamespace = 'portcullis-system';
/** Shortest life in seconds that kube-apiserver grants to a token; a shorter `tokenTTL` is raised to it. */
export const leastTokenSeconds = 600;

/** The spec of a ClusterJoin, with defaults filled in. */
export interface JoinSpec {
  /** Namespace and name of the Secret with the bootstrap kubeconfig, and the key in it. */
  readonly bootstrap: { readonly namespace: string; readonly name: string; readonly key: string };
  readonly deleteBootstrapSecret: boolean;
  /** Namespace in the member that holds the gateway's ServiceAccount. */
  readonly memberNamespace: string;
  readonly impersonate: {
    /**
     * Names of the users that the gateway may impersonate in the member; undefined for all, `[]` for none. `groups`
     * likewise.
     */
    readonly users: readonly string[] | undefined;
    readonly groups: readonly string[] | undefined;
    readonly extras: readonly string[];
  };
  /** Whether the gateway gets the rights to read the member for the index. */
  readonly index: boolean;
  /**
   * Whether the gateway gets the rights to keep AppliedManifestWorks in the member, which executing ManifestWorks
   * needs.
   */
  readonly executeWorks: boolean;
  /** A ConfigMap of the hub whose manifests the bootstrap credential applies in the member; undefined for none. */
  readonly bundle: { readonly namespace: string; readonly name: string } | undefined;
  readonly tokenSeconds: number;
  /** Whether a member that has joined already may join a second time, under this ClusterJoin's name. */
  readonly allowAlias: boolean;
  /** Whether objects in the member that an earlier ClusterJoin has made may be taken over. */
  readonly adopt: boolean;
  /** Whether a ManagedCluster is made, on a hub that has this type. */
  readonly managedCluster: boolean;
  /**
   * How many milliseconds after the deletion of the ClusterJoin an unreachable member is given up; undefined: never.
   */
  readonly forceAfterMs: number | undefined;
}

/** Reads the spec of a ClusterJoin. The hub has validated it by the type's schema. */
export function joinSpecOf(join: ApiObject): JoinSpec {
  const spec = fieldOf(join, 'spec');
  const flag = (name: string, absent: boolean): boolean => {
    const value = fieldOf(spec, name);
    return typeof value === 'boolean' ? value : absent;
  };
  const names = (name: string): readonly string[] | undefined =>
    fieldOf(spec, 'impersonate', name) === undefined ? undefined : textsAt(spec, 'impersonate', name);
  const bundle = { namespace: textAt(spec, 'bundle', 'namespace'), name: textAt(spec, 'bundle', 'name') };
  const life = parseDuration(textAt(spec, 'tokenTTL')) ?? 24 * 3_600_000;
  return {
    bootstrap: {
      namespace: textAt(spec, 'bootstrapKubeconfigSecret', 'namespace'),
      name: textAt(spec, 'bootstrapKubeconfigSecret', 'name'),
      key: textAt(spec, 'bootstrapKubeconfigSecret', 'key') || 'kubeconfig',
    },
    deleteBootstrapSecret: flag('deleteBootstrapSecret', true),
    memberNamespace: textAt(spec, 'memberNamespace') || defaultMemberNamespace,
    impersonate: {
      users: names('users'),
      groups: names('groups'),
      extras: names('extras') ?? kubernetesExtraKeys,
    },
    index: flag('index', false),
    executeWorks: flag('executeWorks', false),
    bundle: bundle.name === '' ? undefined : bundle,
    tokenSeconds: Math.max(leastTokenSeconds, Math.round(life / 1000)),
    allowAlias: flag('allowAlias', false),
    adopt: flag('adopt', false),
    managedCluster: flag('managedCluster', false),
    forceAfterMs: forceAfterOf(textAt(spec, 'deregisterPolicy')),
  };
}

function forceAfterOf(policy: string): number | undefined {
  const [word, duration = ''] = policy.split(':');
  return word === 'ForceAfter' ? parseDuration(duration) : undefined;
}

/** An object that was made in the member, as the status of the ClusterJoin remembers it. */
export interface InstalledObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

/** When the stored token was issued, when it expires, and when it is to be replaced, as RFC 3339 times. */
export interface TokenTimes {
  readonly issuedAt: string;
  readonly expiresAt: string;
  readonly rotateAt: string;
}

/** What the status of a ClusterJoin holds beside its conditions. */
export interface JoinMemory {
  /** UID of the member's Namespace kube-system; '' before the member was reached. */
  readonly clusterUID: string;
  readonly installed: readonly InstalledObject[];
  readonly credential: TokenTimes | undefined;
  /** Hash of the part of the spec from which the `installed` objects were made; '' before any were. */
  readonly installedHash: string;
  /** Certificate authority of the member as base64 of PEM text; '' while unknown. */
  readonly caBundle: string;
  /** URL of the member's API server; '' while unknown. */
  readonly server: string;
}

export function memoryOf(join: ApiObject): JoinMemory {
  const times = fieldOf(join, 'status', 'credential');
  return {
    clusterUID: textAt(join, 'status', 'clusterUID'),
    installed: listAt(join, 'status', 'installed').filter(isJsonObject) as unknown as readonly InstalledObject[],
    credential:
      textAt(times, 'expiresAt') === ''
        ? undefined
        : {
            issuedAt: textAt(times, 'issuedAt'),
            expiresAt: textAt(times, 'expiresAt'),
            rotateAt: textAt(times, 'rotateAt'),
          },
    installedHash: textAt(join, 'status', 'installedHash'),
    caBundle: textAt(join, 'status', 'caBundle'),
    server: textAt(join, 'status', 'server'),
  };
}

/** Labels and annotations of every object that is made for a ClusterJoin. */
export function markOf(join: ApiObject): {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
} {
  const { name, uid } = join.metadata;
  return { labels: { [clusterLabel]: name }, annotations: { [joinAnnotation]: uid } };
}

/** Whether an object was made for this ClusterJoin, by its annotation. */
export function isMadeFor(object: unknown, join: ApiObject): boolean {
  return textAt(object, 'metadata', 'annotations', joinAnnotation) === join.metadata.uid;
}

/** A hash of the part of the spec that decides which objects are made in the member. */
export function installHash({ memberNamespace, impersonate, index, executeWorks, bundle }: JoinSpec): string {
  const { users, groups, extras } = impersonate;
  const parts = [memberNamespace, users ?? null, groups ?? null, extras, index, executeWorks, bundle ?? null];
  // For an empty list of users or groups, version 0.1.0 made a rule without names, which allows all names. For such a
  // ClusterJoin the hash changes here, so that its RBAC objects are applied again.
  if (users?.length === 0 || groups?.length === 0) parts.push('nobody');
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** The condition types in the readiness-gates annotation of an object. */
export function gatesOf(object: unknown): readonly string[] {
  return textAt(object, 'metadata', 'annotations', gatesAnnotation)
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
