// The section of the configuration about the hub: where it is, which sources, who decides. In a pod the hub is the
// cluster the pod runs in unless a flag says otherwise, so that the chart needs no flag; elsewhere there is none.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { withoutDefaultPort } from '../../auth/callers/web-page.ts';
import type { AddressRuleOptions } from '../../cache/model/address-rule.ts';
import { parseRange } from '../../lib/text/ip-address.ts';
import { execLineFault } from '../../cache/sources/objects/allowed-exec.ts';
import type { AllowedExec } from '../../cache/sources/objects/allowed-exec.ts';
import { parseDuration } from '../../lib/duration.ts';
import { importFileFields, readImportConfig } from './import-config.ts';
import type { ImportConfig, ImportInput } from './import-config.ts';
import { sourceNames } from './source-names.ts';
import type { SourceName } from './source-names.ts';
import { definedOf, listOf } from './values.ts';
import type { Fault } from './values.ts';

/** konnectivity's proxy server, as cluster-gateway's flags give it. Paths are absolute. */
export interface ClusterProxy {
  readonly host: string;
  readonly port: number;
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

/** What `serve` needs to know about its hub. Paths are absolute. */
export interface HubConfig {
  /** Undefined: the in-cluster configuration of the pod. */
  readonly kubeconfig: string | undefined;
  /** In order of precedence. */
  readonly sources: readonly SourceName[];
  /** Namespace of cluster-gateway's Secrets. */
  readonly secretNamespace: string;
  /** Namespaces of the Secrets of Cluster API, vcluster and Argo CD; empty means all of them. */
  readonly secretNamespaces: readonly string[];
  /** Name of the ManagedServiceAccount whose token Secrets are used. */
  readonly managedServiceAccount: string;
  /** Namespace of Karmada's Secrets. */
  readonly karmadaNamespace: string;
  /** Command lines that credentials in cluster-gateway's Secrets may run; none by default. */
  readonly allowExec: readonly string[];
  /** Environment variables they may set to anything. */
  readonly allowExecEnv: readonly string[];
  readonly clusterProxy: ClusterProxy | undefined;
  /** Which addresses objects of the hub may name beside the default. */
  readonly memberAddresses: AddressRuleOptions;
  readonly authorizeVerb: 'real' | 'http';
  readonly subpathAuthorization: boolean;
  /** Audiences a token must have; empty means the hub's own. */
  readonly audiences: readonly string[];
  /** Origins of the hub's own addresses, in the form of {@link withoutDefaultPort}; absent is none. */
  readonly origins?: readonly string[];
  readonly tokenReviewTtlMs: number;
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  /** Serve cluster.core.oam.dev too. */
  readonly clusterGatewayApi: boolean;
  /** The serving certificate that replicas share through a Secret; undefined: files, or a CA of this process. */
  readonly serving: SharedServing | undefined;
  /** Undefined or absent: import policies are not in effect. */
  readonly imports?: ImportConfig | undefined;
}

/** See gateway/hub/hub-serving.ts. */
export interface SharedServing {
  readonly namespace: string;
  readonly secretName: string;
  /** DNS names and IP addresses of the certificate. */
  readonly names: readonly string[];
  /** APIServices whose `caBundle` is kept. */
  readonly apiServices: readonly string[];
}

/** The settings as written, under the flags' names. */
export interface HubInput extends ImportInput {
  readonly hubKubeconfig?: string;
  readonly sources?: string;
  readonly secretNamespace?: string;
  readonly secretNamespaces?: string;
  readonly managedServiceAccount?: string;
  readonly karmadaNamespace?: string;
  /** One line or several. */
  readonly allowExec?: string | readonly string[];
  readonly allowExecEnv?: string;
  readonly allowMemberAddresses?: string;
  readonly refuseMemberAddresses?: string;
  readonly proxyHost?: string;
  readonly proxyPort?: string;
  readonly proxyCaCert?: string;
  readonly proxyCert?: string;
  readonly proxyKey?: string;
  readonly authorizeVerb?: string;
  readonly subpathAuthorization?: boolean;
  readonly authorizeProxySubpath?: boolean;
  readonly apiAudiences?: string;
  readonly hubOrigins?: string;
  readonly authenticationTokenWebhookCacheTtl?: string;
  readonly authorizationWebhookCacheAuthorizedTtl?: string;
  readonly authorizationWebhookCacheUnauthorizedTtl?: string;
  readonly clusterGatewayApi?: boolean;
  readonly servingSecret?: string;
  readonly servingNames?: string;
  readonly apiServices?: string;
}

const text = z.string().min(1);

/** The same in the configuration file, without the second spellings that only flags have. */
export const hubFileFields = {
  hubKubeconfig: z.string().optional(),
  sources: text.optional(),
  secretNamespace: text.optional(),
  secretNamespaces: text.optional(),
  managedServiceAccount: text.optional(),
  karmadaNamespace: text.optional(),
  allowExec: z.union([text, z.array(text)]).optional(),
  allowExecEnv: text.optional(),
  allowMemberAddresses: text.optional(),
  refuseMemberAddresses: text.optional(),
  proxyHost: text.optional(),
  proxyPort: text.optional(),
  proxyCaCert: text.optional(),
  proxyCert: text.optional(),
  proxyKey: text.optional(),
  authorizeVerb: text.optional(),
  subpathAuthorization: z.boolean().optional(),
  apiAudiences: text.optional(),
  hubOrigins: text.optional(),
  authenticationTokenWebhookCacheTtl: text.optional(),
  authorizationWebhookCacheAuthorizedTtl: text.optional(),
  authorizationWebhookCacheUnauthorizedTtl: text.optional(),
  clusterGatewayApi: z.boolean().optional(),
  servingSecret: text.optional(),
  servingNames: text.optional(),
  apiServices: text.optional(),
  ...importFileFields,
};

const hubFlags: ReadonlySet<string> = new Set([
  ...Object.keys(hubFileFields).filter((name) => name !== 'hubKubeconfig'),
  'authorizeProxySubpath',
]);

/** Where a pod finds its ServiceAccount. */
export const serviceAccountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

const namespaceForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * The hub's part, or undefined without a hub. Faults are handed to `fault`, one for each flag.
 * @param file what the configuration file says, paths made absolute by the caller
 * @param inPod whether the process runs in a pod, where the hub is the pod's own cluster unless `--hub-kubeconfig ""`
 *   says there is none
 * @param environment where a pod finds the address of that cluster
 */
export function readHubConfig(
  flags: HubInput,
  file: HubInput,
  fault: Fault,
  inPod: boolean,
  environment: NodeJS.ProcessEnv = {},
): HubConfig | undefined {
  const given = { ...file, ...definedOf(flags) };
  if (given.hubKubeconfig === '' || (given.hubKubeconfig === undefined && !inPod)) {
    refuseWithoutHub(flags, fault);
    return undefined;
  }
  const duration = (flag: string, value: string | undefined): number => {
    const parsed = parseDuration(value ?? '10s');
    if (parsed === undefined) fault(flag, `"${value}" is not a duration, for example 10s or 1m30s`);
    return parsed ?? 0;
  };
  const namespaces = listOf(given.secretNamespaces);
  for (const [flag, values] of [
    ['--secret-namespaces', namespaces],
    ['--secret-namespace', listOf(given.secretNamespace)],
    ['--karmada-namespace', listOf(given.karmadaNamespace)],
  ] as const) {
    for (const value of values) if (!namespaceForm.test(value)) fault(flag, `"${value}" is not a namespace name`);
  }
  const { authorizeVerb = 'real' } = given;
  if (authorizeVerb !== 'real' && authorizeVerb !== 'http') fault('--authorize-verb', 'must be "real" or "http"');
  return Object.freeze({
    kubeconfig: given.hubKubeconfig === undefined ? undefined : resolve(given.hubKubeconfig),
    sources: readSources(given.sources, fault),
    secretNamespace: given.secretNamespace ?? 'open-cluster-management-credentials',
    secretNamespaces: namespaces,
    managedServiceAccount: given.managedServiceAccount ?? 'cluster-gateway',
    karmadaNamespace: given.karmadaNamespace ?? 'karmada-cluster',
    ...readAllowedExec(given, fault),
    clusterProxy: readClusterProxy(given, fault),
    memberAddresses: {
      allowed: readRanges('--allow-member-addresses', given.allowMemberAddresses, fault),
      refused: readRanges('--refuse-member-addresses', given.refuseMemberAddresses, fault),
    },
    authorizeVerb: authorizeVerb as 'real' | 'http',
    subpathAuthorization: given.subpathAuthorization === true || given.authorizeProxySubpath === true,
    audiences: listOf(given.apiAudiences),
    origins: readOrigins(given.hubOrigins, environment, fault),
    tokenReviewTtlMs: duration('--authentication-token-webhook-cache-ttl', given.authenticationTokenWebhookCacheTtl),
    authorizedTtlMs: duration(
      '--authorization-webhook-cache-authorized-ttl',
      given.authorizationWebhookCacheAuthorizedTtl,
    ),
    unauthorizedTtlMs: duration(
      '--authorization-webhook-cache-unauthorized-ttl',
      given.authorizationWebhookCacheUnauthorizedTtl,
    ),
    clusterGatewayApi: given.clusterGatewayApi ?? true,
    serving: readSharedServing(given, fault),
    imports: readImportConfig(given, fault),
  });
}

/** True in a pod with a ServiceAccount, by the two signs client-go's rest.InClusterConfig goes by. */
export function runsInPod(environment: NodeJS.ProcessEnv): boolean {
  return (environment['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && existsSync(serviceAccountToken);
}

function readAllowedExec({ allowExec = [], allowExecEnv }: HubInput, fault: Fault): AllowedExec {
  const lines = typeof allowExec === 'string' ? [allowExec] : allowExec;
  for (const message of lines.map(execLineFault)) if (message !== undefined) fault('--allow-exec', message);
  const variables = listOf(allowExecEnv);
  for (const name of variables) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      fault('--allow-exec-env', `${JSON.stringify(name)} is no name of an environment variable`);
  }
  return { allowExec: lines, allowExecEnv: variables };
}

function readSources(value: string | undefined, fault: Fault): readonly SourceName[] {
  if (value === undefined) return sourceNames;
  const names = listOf(value);
  for (const name of names) {
    if (!sourceNames.includes(name as SourceName))
      fault('--sources', `"${name}" is no source; there are ${sourceNames.join(', ')}`);
  }
  return names as SourceName[];
}

function readRanges(flag: string, value: string | undefined, fault: Fault): AddressRuleOptions['allowed'] {
  return listOf(value).flatMap((one) => {
    const range = parseRange(one);
    if (range === undefined) fault(flag, `"${one}" is not an address or a range such as 127.0.0.0/8 or fd00::/8`);
    return range ?? [];
  });
}

/** Names of a hub that only its pods use, never a browser. */
const podOrigins = ['', '.default', '.default.svc', '.default.svc.cluster.local'].map(
  (end) => `https://kubernetes${end}`,
);

/** Origins of the hub: the names that every pod has for it, and those that are listed. */
function readOrigins(
  value: string | undefined,
  { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' }: NodeJS.ProcessEnv,
  fault: Fault,
): readonly string[] {
  const listed = listOf(value);
  for (const one of listed) {
    if (!/^https:\/\/[^\s/?#@*\\]+$/i.test(one))
      fault('--hub-origins', `"${one}" is not an origin such as https://hub.example.com:6443`);
  }
  const inPod = host === '' ? [] : [`https://${host.includes(':') ? `[${host}]` : host}:${port}`];
  return [...podOrigins, ...inPod, ...listed].map(withoutDefaultPort);
}

function readSharedServing(given: HubInput, fault: Fault): HubConfig['serving'] {
  const names = listOf(given.servingNames);
  const apiServices = listOf(given.apiServices);
  if (given.servingSecret === undefined) {
    if (names.length > 0) fault('--serving-names', 'goes with --serving-secret');
    if (apiServices.length > 0) fault('--api-services', 'goes with --serving-secret');
    return undefined;
  }
  const [namespace = '', secretName = '', ...rest] = given.servingSecret.split('/');
  if (!namespaceForm.test(namespace) || !/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(secretName) || rest.length > 0)
    fault('--serving-secret', `"${given.servingSecret}" is not NAMESPACE/NAME`);
  if (names.length === 0) fault('--serving-names', '--serving-secret needs the names clients use, comma-separated');
  return { namespace, secretName, names, apiServices };
}

function readClusterProxy(given: HubInput, fault: Fault): HubConfig['clusterProxy'] {
  if (given.proxyHost === undefined || given.proxyHost === '') return undefined;
  const port = Number(given.proxyPort ?? '8090');
  if (!Number.isInteger(port) || port < 1 || port > 65_535) fault('--proxy-port', 'must be a port number');
  if ((given.proxyCert === undefined) !== (given.proxyKey === undefined))
    fault('--proxy-cert', '--proxy-cert and --proxy-key go together');
  const path = (value: string | undefined): string | undefined => (value === undefined ? undefined : resolve(value));
  return {
    host: given.proxyHost,
    port,
    caFile: path(given.proxyCaCert),
    certFile: path(given.proxyCert),
    keyFile: path(given.proxyKey),
  };
}

function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A flag that would do nothing is reported, since it may have been meant to restrict somebody. */
function refuseWithoutHub(flags: HubInput, fault: Fault): void {
  for (const [name, value] of Object.entries(flags)) {
    // kubeconfig is the one source that needs no hub.
    if (!hubFlags.has(name) || value === undefined || (name === 'sources' && value === 'kubeconfig')) continue;
    fault(flagOf(name), 'needs a hub: give --hub-kubeconfig FILE');
  }
}
