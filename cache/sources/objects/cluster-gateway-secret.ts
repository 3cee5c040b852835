// Reads cluster-gateway's Secrets, as its own converter and KubeVela's `vela cluster join` write them: labels say what
// is in them. Two differences to cluster-gateway are on purpose. No CA means the system roots and not "no
// verification". An `exec` credential is a program of anybody who may write Secrets there, so it runs only when the
// operator allowed its command line.
import type { HubObject } from '../../hub/hub-types.ts';
import type { ClusterGatewayView, ProxyAddress, SourceCondition, TlsTrust } from '../../model/records.ts';
import type { AllowedExec } from './allowed-exec.ts';
import { certificatePlan, tokenPlan, trustIn } from './hub-credential.ts';
import {
  about,
  annotationOf,
  annotationsOf,
  fieldOf,
  labelOf,
  labelsOf,
  secretText,
  titleOf,
  trimLineEnd,
  uidOf,
} from './hub-object.ts';
import { readSecretExec } from './secret-exec.ts';
import type { CredentialPlan } from '../kubeconfig/kubeconfig-user.ts';
import { memberAddress, memberProxy, type Access, type Registration } from './registration.ts';
import { isServerName } from '../address.ts';
import { SourceFault, unusable } from '../unusable.ts';

const group = 'cluster.core.oam.dev';
/** A Secret without this label is no cluster. */
export const credentialTypeLabel = `${group}/cluster-credential-type`;
export const endpointTypeLabel = `${group}/cluster-endpoint-type`;
const proxyConfigurationAnnotation = `${group}/cluster-gateway-proxy-configuration`;
/** Ours: `"true"` switches verification off, reported in the cluster's conditions. */
export const insecureAnnotation = 'gateway.portcullis.io/insecure-skip-tls-verify';
/** Ours: the name to verify in the certificate of the API server. */
export const serverNameAnnotation = 'gateway.portcullis.io/tls-server-name';
/** Name of a kube-apiserver inside its cluster, where a tunnel ends. */
const inClusterName = 'kubernetes.default.svc';

/** The operator's settings. */
export interface GatewaySecretSettings extends AllowedExec {
  /** konnectivity's proxy server, for endpoints of type ClusterProxy. */
  readonly clusterProxy: ProxyAddress | undefined;
}

/** Whether a Secret is a cluster at all. */
export function isGatewaySecret(secret: HubObject): boolean {
  return labelOf(secret, credentialTypeLabel) !== undefined;
}

/**
 * `ServiceAccountToken`, `X509Certificate`, `Dynamic`, or any other value of the label; a page of cluster-gateway's
 * documentation says `X509`.
 */
export function credentialTypeOf(secret: HubObject): string {
  const type = labelOf(secret, credentialTypeLabel) ?? '';
  return type === 'X509' ? 'X509Certificate' : type;
}

/** `Const` unless the label says otherwise. */
export function endpointTypeOf(object: HubObject | undefined): string {
  return labelOf(object, endpointTypeLabel) ?? 'Const';
}

/** The rules of the identity exchange of this cluster, as written. */
export function exchangeOf(secret: HubObject | undefined): string | undefined {
  return annotationOf(secret, proxyConfigurationAnnotation);
}

/** Labels for people, without those of the group, which say how the cluster is registered. */
export function ownLabels(object: HubObject): Record<string, string> {
  return labelsOf(object, (key) => !key.startsWith(`${group}/`));
}

/** What cluster-gateway's API shows of it. */
export function gatewayView(
  object: HubObject,
  credentialType: string,
  endpointType: string,
  secret: HubObject | undefined,
): ClusterGatewayView {
  const text = (field: string): string => {
    const value = fieldOf(object, 'metadata', field);
    return typeof value === 'string' ? value : '';
  };
  const shown = new RegExp(`^(?:status\\.)?${group.replaceAll('.', '\\.')}/`);
  return {
    credentialType,
    endpointType,
    metadata: {
      uid: uidOf(object),
      // Given for a Secret, because clients that write its health need it. A ManagedCluster's changes with every
      // heartbeat, and nobody writes health to it.
      resourceVersion: secret === undefined ? '' : text('resourceVersion'),
      creationTimestamp: text('creationTimestamp'),
      labels: labelsOf(object),
      annotations: annotationsOf(object, (key) => shown.test(key) && key !== proxyConfigurationAnnotation),
    },
    secret:
      secret === undefined ? undefined : { namespace: secret.metadata.namespace ?? '', name: secret.metadata.name },
  };
}

/**
 * The CA a credential Secret brings, '' when it brings none. @throws GatewayError CLUSTER_UNUSABLE when it is no text
 */
export function authorityOf(secret: HubObject): string {
  return secretText(secret, 'ca.crt') ?? secretText(secret, 'ca') ?? '';
}

/**
 * Plan of the credential that the Secret holds. A label of the Secret says which type it is; only the keys of that type
 * are read.
 * @throws GatewayError CLUSTER_UNUSABLE
 */
export function credentialOfSecret(secret: HubObject, settings: GatewaySecretSettings): CredentialPlan {
  const type = credentialTypeOf(secret);
  const key = (name: string): string => `data["${name}"]`;
  if (type === 'ServiceAccountToken') return tokenPlan(key('token'), secretText(secret, 'token'));
  if (type === 'X509Certificate') {
    const names = { cert: key('tls.crt'), key: key('tls.key') };
    return certificatePlan(names, secretText(secret, 'tls.crt'), secretText(secret, 'tls.key'));
  }
  if (type === 'Dynamic') return readSecretExec(key('exec'), secretText(secret, 'exec') ?? '', settings);
  throw unusable(
    `the label ${credentialTypeLabel} must be ServiceAccountToken, X509Certificate or Dynamic; correct the label`,
  );
}

/** `proxy-url` of the Secret. @throws GatewayError CLUSTER_UNUSABLE */
export function proxyOfSecret(secret: HubObject): ProxyAddress | undefined {
  return memberProxy('data["proxy-url"]', trimLineEnd(secretText(secret, 'proxy-url') ?? ''));
}

/**
 * How a member is verified, with the annotations of its objects. An annotation that switches verification off counts
 * even when there is a CA, because the controller that writes the Secret would put the CA back.
 * @throws GatewayError CLUSTER_UNUSABLE
 */
export function trustBy(objects: readonly (HubObject | undefined)[], field: string, ca: string, name = ''): TlsTrust {
  const written = (key: string): string =>
    objects.map((object) => annotationOf(object, key)).find((value) => value !== undefined) ?? '';
  const insecure = written(insecureAnnotation);
  if (!['', 'true', 'false'].includes(insecure)) throw unusable(`the annotation ${insecureAnnotation} must be "true"`);
  const serverName = written(serverNameAnnotation);
  if (serverName !== '' && !isServerName(serverName)) {
    throw unusable(`the annotation ${serverNameAnnotation} is not a host name`);
  }
  return trustIn(field, insecure === 'true' ? '' : ca, insecure === 'true', serverName === '' ? name : serverName);
}

/** A condition for members that only the system roots verify; cluster-gateway would not verify them at all. */
export function trustConditions(title: string, field: string, tls: TlsTrust): readonly SourceCondition[] {
  if (tls.ca !== undefined || tls.insecure) return [];
  const message = `${title} has no ${field}: the system roots verify the API server; add it, or annotate ${insecureAnnotation}: "true" to verify nothing`;
  return [{ type: 'SystemRoots', status: 'True', reason: 'NoCertificateAuthority', message }];
}

/**
 * Endpoint of type ClusterProxy: the proxy server finds the cluster by its name, and the tunnel ends inside the
 * cluster.
 * @throws GatewayError CLUSTER_UNUSABLE
 */
export function tunnelTo(
  name: string,
  settings: GatewaySecretSettings,
  trust: (serverName: string) => TlsTrust,
): Pick<Access, 'endpoint' | 'tls' | 'proxy'> {
  if (settings.clusterProxy === undefined) {
    throw new SourceFault(
      'NoClusterProxy',
      'the endpoint is of type ClusterProxy; start the gateway with --proxy-host and the certificates for it',
    );
  }
  const endpoint = { scheme: 'https', host: name, port: 443, basePath: '' } as const;
  return { endpoint, tls: trust(inClusterName), proxy: settings.clusterProxy };
}

/** @throws GatewayError CLUSTER_UNUSABLE for an endpoint type nobody knows */
export function checkEndpointType(type: string): void {
  if (type === 'Const' || type === 'ClusterProxy') return;
  throw unusable(`the label ${endpointTypeLabel} must be Const or ClusterProxy; correct the label`);
}

/** A Secret that is a whole cluster by itself. */
export function secretRegistration(secret: HubObject, settings: GatewaySecretSettings): Registration {
  const title = titleOf('Secret', secret);
  const { name } = secret.metadata;
  return {
    key: title,
    object: secret,
    others: [],
    source: 'cluster-gateway',
    describe: () => ({
      originalName: name,
      sourceDetail: title,
      labels: ownLabels(secret),
      identityExchange: exchangeOf(secret),
      clusterGateway: gatewayView(secret, credentialTypeOf(secret), endpointTypeOf(secret), secret),
    }),
    access: () =>
      about(title, () => {
        checkEndpointType(endpointTypeOf(secret));
        const field = 'data["ca.crt"]';
        const trust = (serverName?: string): TlsTrust => trustBy([secret], field, authorityOf(secret), serverName);
        const reach =
          endpointTypeOf(secret) === 'ClusterProxy'
            ? tunnelTo(name, settings, trust)
            : {
                endpoint: memberAddress('data.endpoint', trimLineEnd(secretText(secret, 'endpoint') ?? '')),
                tls: trust(),
                proxy: proxyOfSecret(secret),
              };
        const plan = credentialOfSecret(secret, settings);
        return { ...reach, plan, conditions: trustConditions(title, field, reach.tls) };
      }),
  };
}
