// Turns one context of a kubeconfig into a cluster: name, address, trusted certificate authorities, proxy, labels, and
// how to authenticate. Reads no files; the caller passes their texts. A fault in one context becomes the `problem` of
// that cluster and does not affect the others.
import { environmentProxy, type Environment } from '../../../lib/environment-proxy.ts';
import { createHash } from 'node:crypto';
import { readAuthorities } from '../../credentials/pem.ts';
import { isLabel } from '../../../lib/objects/api-names.ts';
import { labelFault } from '../../../lib/objects/label-selector.ts';
import { clusterNames } from '../../../model/cluster-names.ts';
import { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec, Endpoint, ProxyAddress, TlsTrust } from '../../../model/records.ts';
import { isServerName, parseProxy, parseServer } from '../address.ts';
import { execTrust, type ExecClusterInfo } from './kubeconfig-credential.ts';
import type { ClusterEntry, ContextEntry, Kubeconfig, UserEntry } from './kubeconfig-file.ts';
import {
  anonymousPlan,
  besideKubeconfig,
  planCredential,
  userFiles,
  type CredentialPlan,
  type ReadText,
} from './kubeconfig-user.ts';
import { unusable } from '../unusable.ts';

/** The name of the extension of a context that holds the cluster's labels. */
export const labelsExtension = 'gateway.portcullis.io/labels';
/** The name of the extension of a cluster that is passed to exec plugins (client-go `clientcmdapi`). */
const execExtension = 'client.authentication.k8s.io/exec';

/**
 * A cluster before its credential source is made. A draft is plain data, so that the drafts of two loads of a file can
 * be compared.
 */
export interface ClusterDraft {
  /**
   * Identifies the context: JSON of the file, the context name, and a number that distinguishes contexts of the same
   * name in one file. The key stays the same when the file is read again.
   */
  readonly key: string;
  /** Digest of the kubeconfig entries and file contents that this draft of a cluster was made of. */
  readonly inputs: string;
  readonly spec: Omit<ClusterSpec, 'credential'>;
  readonly plan: CredentialPlan;
  /**
   * `spec.cluster` of the ExecCredential that the exec plugin gets; undefined unless the kubeconfig sets
   * provideClusterInfo.
   */
  readonly execCluster: ExecClusterInfo | undefined;
}

/**
 * A context with the cluster and the user that it names. `cluster` or `user` is undefined when the file has no such
 * entry.
 */
interface Parts {
  readonly file: string;
  readonly context: ContextEntry;
  readonly cluster: ClusterEntry | undefined;
  readonly user: UserEntry | undefined;
}

/** Absolute paths of the certificate, key and token files that the contexts of a kubeconfig refer to. */
export function referencedFiles(file: string, kubeconfig: Kubeconfig): readonly string[] {
  return kubeconfig.contexts.flatMap((context) => filesOf(partsOf(file, kubeconfig, context)));
}

/**
 * Makes a draft of a cluster for every context, in the order of the file. A context with a fault gets the problem
 * InvalidConfiguration.
 * @param read returns the text of one of {@link referencedFiles}, or throws GatewayError CLUSTER_UNUSABLE
 * @param before the present drafts by key; a draft whose inputs are unchanged is returned as the same instance
 * @param environment may name a proxy for clusters without a `proxy-url`, as in client-go
 */
export function draftClusters(
  file: string,
  kubeconfig: Kubeconfig,
  read: ReadText,
  before: ReadonlyMap<string, ClusterDraft> = new Map(),
  environment: Environment = process.env,
): readonly ClusterDraft[] {
  const seen = new Map<string, number>();
  return kubeconfig.contexts.map((context) => {
    const occurrence = seen.get(context.name) ?? 0;
    seen.set(context.name, occurrence + 1);
    const parts = partsOf(file, kubeconfig, context);
    const key = JSON.stringify([file, context.name, occurrence]);
    const inputs = digest([parts, filesOf(parts).map((path) => attempt(() => read(path)))]);
    const last = before.get(key);
    if (last?.inputs === inputs) return last;
    // client-go uses `token` only until it could read tokenFile for the first time.
    const mayFallBack = last?.plan.kind !== 'token-file';
    return { key, inputs, ...draftCluster(parts, occurrence, read, { mayFallBack, environment }) };
  });
}

function partsOf(file: string, kubeconfig: Kubeconfig, context: ContextEntry): Parts {
  return {
    file,
    context,
    cluster: kubeconfig.clusters.get(context.cluster),
    user: kubeconfig.users.get(context.user),
  };
}

function filesOf({ file, cluster, user }: Parts): readonly string[] {
  const authority = cluster !== undefined && cluster.caData === '' ? cluster.caFile : '';
  return [
    ...(authority === '' ? [] : [besideKubeconfig(file, authority)]),
    ...(user === undefined ? [] : userFiles(file, user)),
  ];
}

function attempt(read: () => string): string {
  try {
    return `text ${read()}`;
  } catch (error) {
    return `fault ${error instanceof Error ? error.message : ''}`;
  }
}

function draftCluster(
  parts: Parts,
  occurrence: number,
  read: ReadText,
  { mayFallBack, environment }: { readonly mayFallBack: boolean; readonly environment: Environment },
): Pick<ClusterDraft, 'spec' | 'plan' | 'execCluster'> {
  const { file, context, cluster, user } = parts;
  const identity = {
    ...clusterNames(context.name, isLabel),
    originalName: context.name,
    uid: stableUuid([file, context.name, cluster?.server ?? '', ...(occurrence === 0 ? [] : [String(occurrence)])]),
    source: 'kubeconfig',
    sourceDetail: `${file} context "${context.name}"`,
  };
  try {
    if (context.name.trim() === '') throw unusable('the context has no name; rename the context');
    if (cluster === undefined) throw unusable(missing('cluster', context.cluster));
    if (user === undefined && context.user !== '') throw unusable(missing('user', context.user));
    const endpoint = parseServer(cluster.server, 'server', hasTls(cluster) ? 'https' : 'http');
    const tls = trustOf(file, cluster, read);
    const proxy = proxyOf(cluster, endpoint, environment);
    const labels = labelsOf(context);
    // As in client-go: no credential is sent over plain http, since anyone on the network path could read the
    // credential.
    const anonymous = user === undefined || endpoint.scheme === 'http';
    const plan = anonymous ? anonymousPlan : planCredential(file, user, read, mayFallBack);
    const transportKey = digest([endpoint, tls, proxy ?? null, plan.clientCertificate ?? null]);
    const execCluster = plan.exec?.provideClusterInfo === true ? clusterInfo(cluster, tls) : undefined;
    return {
      spec: { ...identity, labels, endpoint, tls, proxy, transportKey, problem: undefined },
      plan,
      execCluster,
    };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return {
      spec: {
        ...identity,
        labels: {},
        endpoint: undefined,
        tls: { ca: undefined, serverName: undefined, insecure: false },
        proxy: undefined,
        transportKey: digest([identity.uid]),
        problem: { reason: 'InvalidConfiguration', message: error.message },
      },
      plan: anonymousPlan,
      execCluster: undefined,
    };
  }
}

function proxyOf({ proxyUrl }: ClusterEntry, endpoint: Endpoint, environment: Environment): ProxyAddress | undefined {
  if (proxyUrl !== '') return parseProxy(proxyUrl);
  const found = environmentProxy(endpoint, environment);
  return found === undefined ? undefined : parseProxy(found, `the variable ${endpoint.scheme.toUpperCase()}_PROXY`);
}

function missing(what: string, name: string): string {
  return name === '' ? `the context names no ${what}` : `the ${what} "${name}" is not in this file`;
}

/**
 * Whether the cluster says how to verify its API server. By this, client-go decides what an address without a scheme
 * means.
 */
export function hasTls({ caData, caFile, insecure }: ClusterEntry): boolean {
  return caData !== '' || caFile !== '' || insecure;
}

/** How the API server's certificate is verified. @throws GatewayError CLUSTER_UNUSABLE with the reason */
export function trustOf(file: string, cluster: ClusterEntry, read: ReadText): TlsTrust {
  const what = `certificate-authority of cluster "${cluster.name}"`;
  const hasAuthority = cluster.caData !== '' || cluster.caFile !== '';
  // client-go refuses this combination, too: nobody can know which of the two settings was meant.
  if (cluster.insecure && hasAuthority) {
    throw unusable(`cluster "${cluster.name}" has insecure-skip-tls-verify and a certificate-authority; remove one`);
  }
  const serverName = cluster.serverName === '' ? undefined : cluster.serverName;
  if (serverName !== undefined && !isServerName(serverName)) {
    throw unusable(`tls-server-name of cluster "${cluster.name}" is not a host name`);
  }
  const pem = cluster.caData === '' && hasAuthority ? read(besideKubeconfig(file, cluster.caFile)) : cluster.caData;
  return { ca: hasAuthority ? readAuthorities(what, pem) : undefined, serverName, insecure: cluster.insecure };
}

function labelsOf(context: ContextEntry): Readonly<Record<string, string>> {
  const found = context.extensions.find((item) => item.name === labelsExtension)?.extension;
  if (found === undefined || found === null) return {};
  const where = `extension ${labelsExtension}`;
  if (typeof found !== 'object' || Array.isArray(found)) throw unusable(`${where} must be a mapping of labels`);
  const entries = Object.entries(found);
  for (const [key, value] of entries) {
    if (typeof value !== 'string') throw unusable(`${where}: the value of "${key}" must be text, quote it`);
    const fault = labelFault(key, value);
    if (fault !== undefined) throw unusable(`${where}: ${fault}`);
  }
  return Object.fromEntries(entries);
}

function clusterInfo(cluster: ClusterEntry, tls: TlsTrust): ExecClusterInfo {
  const config = cluster.extensions.find((item) => item.name === execExtension)?.extension;
  return {
    server: cluster.server,
    ...execTrust(tls),
    ...(cluster.proxyUrl === '' ? {} : { 'proxy-url': cluster.proxyUrl }),
    ...(config === undefined ? {} : { config }),
  };
}

/** SHA-256 of the JSON text of `parts`, in hexadecimal. Used to compare values by content. */
export function digest(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/**
 * A version 8 UUID (RFC 9562 section 5.8) from the SHA-256 of `parts`: equal parts give the same UUID after every
 * restart.
 */
export function stableUuid(parts: readonly string[]): string {
  const bytes = createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
