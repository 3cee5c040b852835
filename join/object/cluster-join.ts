// Reads ClusterJoin objects: what they ask for, and what their status remembers between two looks at them.
import { createHash } from 'node:crypto';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import { listAt, textAt, textsAt, type ResourceType } from '../../controllers/objects.ts';
import { kubernetesExtraKeys } from '../../lib/rights/impersonation-rules.ts';
import { parseDuration } from '../../lib/duration.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';

/**
 * The API group is not that of the gateway's own API, since an aggregated API serves gateway.portcullis.io on the hub.
 */
export const clusterJoins: ResourceType = {
  group: 'join.portcullis.io',
  version: 'v1alpha1',
  resource: 'clusterjoins',
};
export const joinKind = 'ClusterJoin';
export const joinApiVersion = `${clusterJoins.group}/${clusterJoins.version}`;

/** Finalizer of ClusterJoins, and of the ManagedClusters that are made for them. */
export const joinFinalizer = 'gateway.portcullis.io/join';
/** Label of every object that is made for a join, on the hub and in the member. Its value is the cluster's name. */
export const clusterLabel = 'gateway.portcullis.io/cluster';
/** Annotation of these objects: the UID of the ClusterJoin. */
export const joinAnnotation = 'gateway.portcullis.io/join';
/** Annotation with the condition types that must be True before a cluster is ready, separated by commas. */
export const gatesAnnotation = 'gateway.portcullis.io/readiness-gates';

export const defaultMemberNamespace = 'portcullis-system';
/** The shortest life of a token that kube-apiserver grants, in seconds. */
export const leastTokenSeconds = 600;

/** What a ClusterJoin asks for, with defaults filled in. */
export interface JoinSpec {
  /** The Secret with the bootstrap kubeconfig, and its key. */
  readonly bootstrap: { readonly namespace: string; readonly name: string; readonly key: string };
  readonly deleteBootstrapSecret: boolean;
  /** Namespace in the member that holds the gateway's ServiceAccount. */
  readonly memberNamespace: string;
  readonly impersonate: {
    /** Names of the only users; undefined for all. */
    readonly users: readonly string[] | undefined;
    readonly groups: readonly string[] | undefined;
    readonly extras: readonly string[];
  };
  /** Whether the index may read the member. */
  readonly index: boolean;
  /** Whether the executor of ManifestWorks may keep its records in the member. */
  readonly executeWorks: boolean;
  /** A ConfigMap of the hub whose manifests the bootstrap credential applies in the member; undefined for none. */
  readonly bundle: { readonly namespace: string; readonly name: string } | undefined;
  readonly tokenSeconds: number;
  /** Whether a second name for a member that has joined already is permitted. */
  readonly allowAlias: boolean;
  /** Whether objects of an earlier join may be taken over. */
  readonly adopt: boolean;
  /** Whether a ManagedCluster is made where the hub has this type. */
  readonly managedCluster: boolean;
  /** After how many milliseconds an unreachable member is given up when it leaves; undefined: never. */
  readonly forceAfterMs: number | undefined;
}

/** Reads the spec of a ClusterJoin, whose form the hub has checked. */
export function joinSpecOf(join: HubObject): JoinSpec {
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

/** An object that was made in the member, as the status remembers it. */
export interface InstalledObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

/** When the stored token was made, ends and is replaced; RFC 3339 times. */
export interface TokenTimes {
  readonly issuedAt: string;
  readonly expiresAt: string;
  readonly rotateAt: string;
}

/** What the status of a ClusterJoin remembers, beside conditions. */
export interface JoinMemory {
  /** UID of the member's Namespace kube-system; '' before the member was reached. */
  readonly clusterUID: string;
  readonly installed: readonly InstalledObject[];
  readonly credential: TokenTimes | undefined;
  /** Hash of the part of the spec that {@link InstalledObject}s were made by; '' before. */
  readonly installedHash: string;
  /** Base64 of the member's own certificate authority; '' while unknown. */
  readonly caBundle: string;
  /** Address of the member. */
  readonly server: string;
}

export function memoryOf(join: HubObject): JoinMemory {
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

/** Labels and annotations of every object that is made for a join. */
export function markOf(join: HubObject): {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
} {
  const { name, uid } = join.metadata;
  return { labels: { [clusterLabel]: name }, annotations: { [joinAnnotation]: uid } };
}

/** Whether an object was made for this ClusterJoin. */
export function isMadeFor(object: unknown, join: HubObject): boolean {
  return textAt(object, 'metadata', 'annotations', joinAnnotation) === join.metadata.uid;
}

/** A hash of the part of the spec that decides which objects are made in the member. */
export function installHash({ memberNamespace, impersonate, index, executeWorks, bundle }: JoinSpec): string {
  const parts = [memberNamespace, impersonate.users ?? null, impersonate.groups ?? null, impersonate.extras];
  return createHash('sha256')
    .update(JSON.stringify([...parts, index, executeWorks, bundle ?? null]))
    .digest('hex');
}

/** Condition types that must be True before a cluster is ready, as the annotation of an object lists them. */
export function gatesOf(object: unknown): readonly string[] {
  return textAt(object, 'metadata', 'annotations', gatesAnnotation)
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
