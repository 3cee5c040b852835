// Turns what objects of a hub say about a cluster into its spec, and remembers the specs of unchanged objects. A
// heartbeat that only changes a status gives the very same credential again; otherwise every plugin would run anew and
// every connection would be dropped.
import { GatewayError } from '../../model/errors.ts';
import type { HubObject } from '../../hub/hub-types.ts';
import type {
  ClusterGatewayView,
  ClusterSpec,
  Endpoint,
  EndpointOption,
  ProxyAddress,
  SourceCondition,
  SourceIndexing,
  TlsTrust,
} from '../../model/records.ts';
import { isSubdomain } from '../../model/cluster-names.ts';
import { sameSpec } from '../../model/store.ts';
import { parseProxy, parseServer } from '../address.ts';
import { uidOf, versionOf } from './hub-object.ts';
import { digest, stableUuid } from '../kubeconfig/kubeconfig-cluster.ts';
import {
  credentialOfPlan,
  execTrust,
  type ExecClusterInfo,
  type ExecSettings,
} from '../kubeconfig/kubeconfig-credential.ts';
import type { CredentialPlan } from '../kubeconfig/kubeconfig-user.ts';
import { SourceFault, unusable } from '../unusable.ts';

/** What is known about a cluster even when its objects have faults. */
export interface Description {
  /** As the source calls it; used as the name when it is a DNS subdomain. */
  readonly originalName: string;
  /** Objects it is made from, for people. */
  readonly sourceDetail: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly conditions?: readonly SourceCondition[];
  readonly identityExchange?: string | undefined;
  readonly clusterGateway?: ClusterGatewayView | undefined;
  readonly indexing?: SourceIndexing | undefined;
}

/** How the cluster is reached. */
export interface Access {
  readonly endpoint: Endpoint;
  readonly tls: TlsTrust;
  readonly proxy?: ProxyAddress | undefined;
  readonly fallbacks?: readonly EndpointOption[];
  readonly plan: CredentialPlan;
  /** Conditions found while reading it, shown beside those of the description. */
  readonly conditions?: readonly SourceCondition[];
}

/** One cluster of a source before its objects are read. */
export interface Registration {
  /** Kind, namespace and name of `object`: no two of a source have the same. */
  readonly key: string;
  /** Its UID is the cluster's identity: created anew, it is another cluster. */
  readonly object: HubObject;
  /** Every other object that `describe` and `access` read, in a fixed order. */
  readonly others: readonly (HubObject | undefined)[];
  /** Anything else that `describe` and `access` depend on. */
  readonly settings?: string;
  /** Name of the source to show, when it is not the registry's. */
  readonly source?: string;
  /** Must not throw. */
  readonly describe: () => Description;
  /**
   * @throws GatewayError whose message becomes the cluster's problem, with `reason` when it is a {@link SourceFault}
   */
  readonly access: () => Access;
}

interface Remembered {
  /** What it was made from. */
  readonly registration: Registration;
  readonly version: string;
  readonly spec: ClusterSpec;
  readonly planKey: string;
}

/**
 * A function from registrations to specs. Unchanged objects (UID and resourceVersion) give the same spec object;
 * changed ones that say the same keep spec and credential; a new token keeps `transportKey`.
 */
export function makeRegistry(
  source: string,
  exec: ExecSettings = {},
): (registrations: readonly Registration[]) => readonly ClusterSpec[] {
  let remembered: ReadonlyMap<string, Remembered> = new Map();
  return (registrations) => {
    const next = new Map<string, Remembered>();
    for (const registration of registrations) {
      // Two registrations with one key would have one uid; the first counts.
      if (next.has(registration.key)) continue;
      const before = remembered.get(registration.key);
      next.set(
        registration.key,
        before !== undefined && sameObjects(before.registration, registration)
          ? before
          : compiled(registration.source ?? source, registration, before, exec),
      );
    }
    remembered = next;
    return [...next.values()].map(({ spec }) => spec);
  };
}

/**
 * Whether they hold the very same objects: of thousands of clusters all but a few do, and their versions need not even
 * be read.
 */
function sameObjects(a: Registration, b: Registration): boolean {
  const same = a.object === b.object && a.settings === b.settings && a.others.length === b.others.length;
  return same && a.others.every((object, index) => object === b.others[index]);
}

function compiled(
  source: string,
  registration: Registration,
  before: Remembered | undefined,
  exec: ExecSettings,
): Remembered {
  const version = JSON.stringify([
    versionOf(registration.object),
    ...registration.others.map(versionOf),
    registration.settings ?? '',
  ]);
  if (before?.version === version) return { ...before, registration };
  return { registration, version, ...compileOne(source, registration, before, exec) };
}

function compileOne(
  source: string,
  registration: Registration,
  before: Remembered | undefined,
  exec: ExecSettings,
): Pick<Remembered, 'spec' | 'planKey'> {
  const uid = stableUuid([source, registration.key, uidOf(registration.object)]);
  const description = registration.describe();
  const named = isSubdomain(description.originalName);
  const base = {
    // A name that fits no path must not keep anybody else from having it either.
    name: named ? description.originalName : '',
    originalName: description.originalName,
    uid,
    source,
    sourceDetail: description.sourceDetail,
    labels: description.labels,
    ...(description.identityExchange === undefined ? {} : { identityExchange: description.identityExchange }),
    ...(description.clusterGateway === undefined ? {} : { clusterGateway: description.clusterGateway }),
    ...(description.indexing === undefined ? {} : { indexing: description.indexing }),
  };
  const read = attempt(() => (named ? registration.access() : refuseName(description)));
  const conditions = [...(description.conditions ?? []), ...('access' in read ? (read.access.conditions ?? []) : [])];
  const reported = conditions.length === 0 ? {} : { conditions };
  if (!('access' in read)) {
    const spec: ClusterSpec = {
      ...base,
      ...reported,
      endpoint: undefined,
      tls: { ca: undefined, serverName: undefined, insecure: false },
      proxy: undefined,
      credential: undefined,
      transportKey: digest([uid]),
      problem: read,
    };
    return { spec: keep(before, spec), planKey: '' };
  }
  const { endpoint, tls, proxy, fallbacks = [], plan } = read.access;
  const clusterInfo = plan.exec?.provideClusterInfo === true ? execClusterInfo(endpoint, tls) : undefined;
  const planKey = digest([plan, clusterInfo ?? null]);
  const spec: ClusterSpec = {
    ...base,
    ...reported,
    endpoint,
    tls,
    proxy,
    ...(fallbacks.length === 0 ? {} : { fallbacks }),
    credential: before?.planKey === planKey ? before.spec.credential : credentialOfPlan(plan, clusterInfo, exec),
    transportKey: digest([endpoint, tls, proxy ?? null, plan.clientCertificate ?? null, fallbacks]),
    problem: undefined,
  };
  return { spec: keep(before, spec), planKey };
}

function refuseName({ sourceDetail }: Description): never {
  throw new SourceFault(
    'InvalidName',
    `${sourceDetail}: the name must be lower case letters, digits, "-" and ".", at most 253 characters; rename the cluster`,
  );
}

function attempt(
  read: () => Access,
): { readonly access: Access } | { readonly reason: string; readonly message: string } {
  try {
    return { access: read() };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const reason = error instanceof SourceFault ? error.problemReason : 'InvalidConfiguration';
    return { reason, message: error.message };
  }
}

function keep(before: Remembered | undefined, spec: ClusterSpec): ClusterSpec {
  return before !== undefined && sameSpec(before.spec, spec) ? before.spec : spec;
}

/** `spec.cluster` of an ExecCredential (client.authentication.k8s.io/v1 Cluster). */
function execClusterInfo(endpoint: Endpoint, tls: TlsTrust): ExecClusterInfo {
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
  return {
    server: `https://${host}:${endpoint.port}${endpoint.basePath}`,
    ...execTrust(tls),
  };
}

/**
 * An https address of a hub object. @throws GatewayError CLUSTER_UNUSABLE; plain http would show the credential to
 * everybody on the way
 */
export function memberAddress(field: string, text: string): Endpoint {
  const endpoint = parseServer(text, field);
  if (endpoint.scheme !== 'https') throw unusable(`${field} must start with https://`);
  return endpoint;
}

/** A proxy address of a hub object, undefined for ''. @throws GatewayError CLUSTER_UNUSABLE */
export function memberProxy(field: string, text: string): ProxyAddress | undefined {
  return text === '' ? undefined : parseProxy(text, field);
}
