// Makes the spec of a cluster from the hub objects that describe it, and keeps the specs of unchanged objects. When
// only a status changed, such as a heartbeat, the spec keeps the same credential instance. A new instance would run
// every exec plugin again and drop every connection.
import { GatewayError } from '../../../model/errors.ts';
import type { ApiObject } from '../../../kube/types.ts';
import type {
  ClusterGatewayView,
  ClusterSpec,
  Endpoint,
  EndpointOption,
  ProxyAddress,
  SourceCondition,
  SourceIndexing,
  TlsTrust,
} from '../../../model/records.ts';
import { isSubdomain } from '../../../lib/objects/api-names.ts';
import { clusterNames } from '../../../model/cluster-names.ts';
import { sameSpec } from '../../../model/store.ts';
import { parseProxy, parseServer } from '../address.ts';
import { annotationsOf, uidOf, versionOf } from './hub-object.ts';
import { digest, stableUuid } from '../kubeconfig/kubeconfig-cluster.ts';
import {
  credentialOfPlan,
  execTrust,
  type ExecClusterInfo,
  type ExecSettings,
} from '../kubeconfig/kubeconfig-credential.ts';
import type { CredentialPlan } from '../kubeconfig/kubeconfig-user.ts';
import { SourceFault, unusable } from '../unusable.ts';

/** The part of a cluster's spec that is known even when its address or credential cannot be read. */
export interface Description {
  /** The cluster's name in the hub object. If it is no DNS subdomain, a valid name is derived from it. */
  readonly originalName: string;
  /** The objects that the cluster was read from, for messages. */
  readonly sourceDetail: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly conditions?: readonly SourceCondition[];
  readonly identityExchange?: string | undefined;
  readonly clusterGateway?: ClusterGatewayView | undefined;
  readonly indexing?: SourceIndexing | undefined;
}

/** How to reach the cluster: address, trust, proxy and credential. */
export interface Access {
  readonly endpoint: Endpoint;
  readonly tls: TlsTrust;
  readonly proxy?: ProxyAddress | undefined;
  readonly fallbacks?: readonly EndpointOption[];
  readonly plan: CredentialPlan;
  /**
   * Conditions found while reading address and credential. They are shown after the conditions of the {@link
   * Description}.
   */
  readonly conditions?: readonly SourceCondition[];
}

/** One cluster of a source, with functions that read its objects when needed. */
export interface Registration {
  /** Kind, namespace and name of `object`. Unique within one source. */
  readonly key: string;
  /**
   * The object that registers the cluster. Its UID identifies the cluster, so an object that was deleted and created
   * again is a new cluster.
   */
  readonly object: ApiObject;
  /**
   * All other objects that `describe` and `access` read, in a fixed order. When one of them changes, the spec is made
   * anew.
   */
  readonly others: readonly (ApiObject | undefined)[];
  /**
   * What `describe` and `access` depend on besides these objects, as a text. When the text changes, the spec is made
   * anew.
   */
  readonly settings?: string;
  /** The name of the source to show, when it differs from the name that was passed to makeRegistry. */
  readonly source?: string;
  /** Reads what can be shown of the cluster even when `access` throws. Must not throw itself. */
  readonly describe: () => Description;
  /**
   * Reads address and credential.
   * @throws GatewayError whose message becomes the cluster's problem; a {@link SourceFault} also gives the problem's
   * reason
   */
  readonly access: () => Access;
}

/** The spec that was made of a registration, with the inputs that later registrations are compared with. */
interface Remembered {
  /** The Registration from which `spec` was made. */
  readonly registration: Registration;
  readonly version: string;
  readonly spec: ClusterSpec;
  /** Digest of the credential plan and of the plugin's `spec.cluster`. While it stays equal, the credential is kept. */
  readonly planKey: string;
}

/**
 * Returns a function that turns registrations into specs. Objects with unchanged UID and resourceVersion give the same
 * spec instance. Changed objects with the same content keep spec and credential. A changed token gives a new
 * credential, but the same `transportKey`.
 */
export function makeRegistry(
  source: string,
  exec: ExecSettings = {},
): (registrations: readonly Registration[]) => readonly ClusterSpec[] {
  let remembered: ReadonlyMap<string, Remembered> = new Map();
  return (registrations) => {
    const next = new Map<string, Remembered>();
    for (const registration of registrations) {
      // Two registrations with the same key would get the same uid, so only the first is used.
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
 * Whether both registrations have the same object instances and settings. For most clusters this is true, and then the
 * resourceVersions of their objects need not be compared.
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
  const description = registration.describe();
  const base = describedSpec(source, registration, description);
  const isNamed = description.originalName.trim() !== '';
  const read = attempt(() => (isNamed ? registration.access() : refuseName(description)));
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
      transportKey: digest([base.uid]),
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

/** The fields of a spec that are the same whether or not the cluster can be reached. */
function describedSpec(
  source: string,
  { key, object }: Registration,
  { originalName, sourceDetail, labels, identityExchange, clusterGateway, indexing }: Description,
) {
  const indexOptions = annotationsOf(object, (name) => name.startsWith('index.portcullis.io/'));
  return {
    name: nameOf(originalName),
    originalName,
    uid: stableUuid([source, key, uidOf(object)]),
    source,
    sourceDetail,
    labels,
    registeredAt: registeredAt(object),
    ...(identityExchange === undefined ? {} : { identityExchange }),
    ...(clusterGateway === undefined ? {} : { clusterGateway }),
    ...(indexing === undefined ? {} : { indexing }),
    ...(Object.keys(indexOptions).length === 0 ? {} : { indexOptions }),
  };
}

/**
 * When the object was created. An object without a valid creationTimestamp counts as the youngest of all, so it never
 * gets a name for which another cluster asks too.
 */
function registeredAt({ metadata: { creationTimestamp } }: ApiObject): string {
  const isTime = typeof creationTimestamp === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(creationTimestamp);
  return isTime ? creationTimestamp : '9999-12-31T23:59:59Z';
}

function refuseName({ sourceDetail }: Description): never {
  throw new SourceFault('InvalidName', `${sourceDetail}: the cluster has no name; give it one`);
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

/** The JSON of `spec.cluster` in an ExecCredential (client.authentication.k8s.io/v1 Cluster). */
function execClusterInfo(endpoint: Endpoint, tls: TlsTrust): ExecClusterInfo {
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
  return {
    server: `https://${host}:${endpoint.port}${endpoint.basePath}`,
    ...execTrust(tls),
  };
}

/**
 * Parses the address of a member cluster; only https is permitted, since plain http would show the credential to anyone
 * on the network path.
 * @param hasTls whether the object says how to verify the cluster. client-go then takes a host and port for https, and
 *   else for http.
 * @throws GatewayError CLUSTER_UNUSABLE when the address is malformed or not https
 */
export function memberAddress(field: string, text: string, hasTls = false): Endpoint {
  const endpoint = parseServer(text, field, hasTls ? 'https' : 'http');
  if (endpoint.scheme !== 'https') throw unusable(`${field} must start with https://`);
  return endpoint;
}

/**
 * Parses a proxy address of a hub object; undefined for ''. @throws GatewayError CLUSTER_UNUSABLE when it is malformed
 */
export function memberProxy(field: string, text: string): ProxyAddress | undefined {
  return text === '' ? undefined : parseProxy(text, field);
}

/**
 * The name of a cluster. An original name that is no DNS subdomain is replaced by a name that contains a digest of the
 * original. The digest is always added, so no two clusters can ask for the same replacement.
 */
function nameOf(originalName: string): string {
  const { name, digestName } = clusterNames(originalName, isSubdomain);
  return digestName ?? name;
}
