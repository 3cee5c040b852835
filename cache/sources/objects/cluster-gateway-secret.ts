// Reads the Secrets in which cluster-gateway and KubeVela's `vela cluster join` store clusters. Labels of a Secret say
// which type of credential and endpoint it contains. Two things differ from cluster-gateway on purpose. Without a CA,
// the system roots verify the API server, where cluster-gateway would verify nothing. And an `exec` credential runs
// only when the operator permitted its command line, because everybody who may write such Secrets could otherwise run
// programs in the gateway's pod.
import type { ApiObject } from '../../../kube/types.ts';
import type { ClusterGatewayView, ProxyAddress, SourceCondition, TlsTrust } from '../../../model/records.ts';
import type { AllowedExec } from './allowed-exec.ts';
import { certificatePlan, tokenPlan, trustIn } from './hub-credential.ts';
import { fieldOf } from '../../../lib/objects/json-object.ts';
import {
  about,
  annotationOf,
  annotationsOf,
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
/** The label that marks a Secret as a cluster and names the type of its credential. */
export const credentialTypeLabel = `${group}/cluster-credential-type`;
/** The label that says how the cluster is reached: `Const` or `ClusterProxy`. */
export const endpointTypeLabel = `${group}/cluster-endpoint-type`;
/** The annotation with the cluster's own rules for replacing the user that requests go out as. */
const proxyConfigurationAnnotation = `${group}/cluster-gateway-proxy-configuration`;
/**
 * An annotation of Portcullis: `"true"` switches verification of the API server off. The cluster's conditions report
 * it.
 */
export const insecureAnnotation = 'gateway.portcullis.io/insecure-skip-tls-verify';
/** An annotation of Portcullis: the name that the API server's certificate must be valid for. */
export const serverNameAnnotation = 'gateway.portcullis.io/tls-server-name';
/**
 * The name under which a kube-apiserver is reached inside its own cluster, which is where a konnectivity tunnel ends.
 */
const inClusterName = 'kubernetes.default.svc';

/** Settings of the operator for reading cluster-gateway Secrets. */
export interface GatewaySecretSettings extends AllowedExec {
  /**
   * The proxy server of konnectivity, used for endpoints of type ClusterProxy; undefined when the operator gave none.
   */
  readonly clusterProxy: ProxyAddress | undefined;
}

/** Whether a Secret describes a cluster: whether it has the label for the type of the credential. */
export function isGatewaySecret(secret: ApiObject): boolean {
  return labelOf(secret, credentialTypeLabel) !== undefined;
}

/**
 * The credential type from the Secret's label: `ServiceAccountToken`, `X509Certificate`, `Dynamic`, or any other text
 * written there. `X509`, which a page of cluster-gateway's documentation shows, counts as `X509Certificate`.
 */
export function credentialTypeOf(secret: ApiObject): string {
  const type = labelOf(secret, credentialTypeLabel) ?? '';
  return type === 'X509' ? 'X509Certificate' : type;
}

/** The endpoint type from the object's label; `Const` when the label is absent. */
export function endpointTypeOf(object: ApiObject | undefined): string {
  return labelOf(object, endpointTypeLabel) ?? 'Const';
}

/**
 * The annotation with the cluster's own rules for replacing the user that requests go out as, unparsed; undefined when
 * absent.
 */
export function exchangeOf(secret: ApiObject | undefined): string | undefined {
  return annotationOf(secret, proxyConfigurationAnnotation);
}

/** The object's labels without those that cluster-gateway uses to describe the registration. */
export function ownLabels(object: ApiObject): Record<string, string> {
  return labelsOf(object, (key) => !key.startsWith(`${group}/`));
}

/** The fields that cluster-gateway's own API shows for this cluster. */
export function gatewayView(
  object: ApiObject,
  credentialType: string,
  endpointType: string,
  secret: ApiObject | undefined,
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
      // Clients that report a cluster's health need the resourceVersion of its Secret. The resourceVersion of a
      // ManagedCluster is left out: it changes with every heartbeat, so the gateway writes health there without
      // comparing it.
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
 * The CA of a credential Secret as PEM text; '' when the Secret has none.
 * @throws GatewayError CLUSTER_UNUSABLE when the CA is not base64 of UTF-8 text
 */
export function authorityOf(secret: ApiObject): string {
  return secretText(secret, 'ca.crt') ?? secretText(secret, 'ca') ?? '';
}

/**
 * Makes a plan to authenticate with the credential in the Secret. The label for the credential type decides which keys
 * of the Secret are read.
 * @throws GatewayError CLUSTER_UNUSABLE when the type is unknown or its keys are missing or invalid
 */
export function credentialOfSecret(secret: ApiObject, settings: GatewaySecretSettings): CredentialPlan {
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

/**
 * The proxy in the Secret's key `proxy-url`; undefined when there is none. @throws GatewayError CLUSTER_UNUSABLE for a
 * malformed one
 */
export function proxyOfSecret(secret: ApiObject): ProxyAddress | undefined {
  return memberProxy('data["proxy-url"]', trimLineEnd(secretText(secret, 'proxy-url') ?? ''));
}

/**
 * How the API server's certificate is verified. The annotations of `objects` count; the first object that has an
 * annotation decides. An annotation that switches verification off wins over a CA: an operator cannot remove the CA
 * instead, because the controller that writes the Secret would put it back.
 * @param name the name to verify when no annotation gives one; '' means the host of the address
 * @throws GatewayError CLUSTER_UNUSABLE when an annotation or the CA is invalid
 */
export function trustBy(objects: readonly (ApiObject | undefined)[], field: string, ca: string, name = ''): TlsTrust {
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

/**
 * A condition which warns that a cluster has no CA, so that the system roots verify its certificate; empty for other
 * clusters. (cluster-gateway would not verify the certificate at all.)
 */
export function trustConditions(title: string, field: string, tls: TlsTrust): readonly SourceCondition[] {
  if (tls.ca !== undefined || tls.insecure) return [];
  const message = `${title} has no ${field}: the system roots verify the API server; add it, or annotate ${insecureAnnotation}: "true" to verify nothing`;
  return [{ type: 'SystemRoots', status: 'True', reason: 'NoCertificateAuthority', message }];
}

/**
 * How to reach a cluster whose endpoint is of type ClusterProxy. konnectivity's proxy server finds the cluster by its
 * name, and the tunnel ends inside the cluster.
 * @throws GatewayError CLUSTER_UNUSABLE when the operator gave no proxy server
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

/** Checks the endpoint type. @throws GatewayError CLUSTER_UNUSABLE when it is neither Const nor ClusterProxy */
export function checkEndpointType(type: string): void {
  if (type === 'Const' || type === 'ClusterProxy') return;
  throw unusable(`the label ${endpointTypeLabel} must be Const or ClusterProxy; correct the label`);
}

/** The registration of a cluster that only a Secret describes, without a ManagedCluster. */
export function secretRegistration(secret: ApiObject, settings: GatewaySecretSettings): Registration {
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
