// The immutable record of one cluster. Whatever source a cluster comes from, its record has this type, and a request
// uses nothing but the record to reach the cluster. A record is never changed but replaced by a new one (rule "records
// swap whole" of docs/rules.md).
import type { AddressRule } from './address-rule.ts';

/** Address of a cluster's API server. The scheme is https unless a kubeconfig explicitly says http. */
export interface Endpoint {
  readonly scheme: 'https' | 'http';
  /** Host name or IP address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path prefix without a trailing slash; '' for none. For example, an API server behind Rancher has one. */
  readonly basePath: string;
}

/** How the certificate of the API server is verified. */
export interface TlsTrust {
  /** Trusted certificate authorities in PEM; undefined trusts the system's roots. */
  readonly ca: string | undefined;
  /** Name for SNI and verification; undefined uses the endpoint's host. */
  readonly serverName: string | undefined;
  /** Whether verification is off (`insecure-skip-tls-verify`). The cluster's conditions show it. */
  readonly insecure: boolean;
}

/** A proxy between the gateway and a member: `proxy-url` of a kubeconfig, or a tunnel server such as konnectivity's. */
export interface ProxyAddress {
  /** `unix` means HTTP CONNECT over the Unix socket at `socketPath`. */
  readonly scheme: 'http' | 'https' | 'socks5' | 'unix';
  readonly host: string;
  readonly port: number;
  /** User name and password from the proxy URL, decoded. Must not be logged. */
  readonly userinfo: { readonly username: string; readonly password: string } | undefined;
  /** Only for scheme `unix`: absolute path of the socket. */
  readonly socketPath?: string;
  /**
   * Only for scheme `https`, all in PEM: `ca` verifies the proxy, `cert` and `key` authenticate the gateway to it.
   * Without them, the system's roots and no client certificate are used.
   */
  readonly tls?: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly serverName?: string;
  };
  /** Headers sent to the proxy with CONNECT, never to the member (Karmada's `proxyHeader`). Must not be logged. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

/**
 * A further address of the same cluster. It is tried when no connection to any earlier address of the cluster can be
 * opened.
 */
export interface EndpointOption {
  readonly endpoint: Endpoint;
  readonly tls: TlsTrust;
}

/** A condition that a source derives from its objects. Conditions of the probe are in {@link ClusterStatus}. */
export interface SourceCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/**
 * What the gateway shows of a cluster in cluster-gateway's API (cluster.core.oam.dev/v1alpha1 ClusterGateway). Contains
 * no secret.
 */
export interface ClusterGatewayView {
  /**
   * The type of the credential: `ServiceAccountToken`, `X509Certificate`, `Dynamic`, or other text that the Secret's
   * label has.
   */
  readonly credentialType: string;
  /** How the cluster is reached: `Const`, at a fixed address, or `ClusterProxy`, through a konnectivity tunnel. */
  readonly endpointType: string;
  /** Metadata of the Secret or ManagedCluster, for the metadata of the ClusterGateway object. */
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  /**
   * Namespace and name of the Secret in whose annotations the gateway stores the health that clients report. Undefined
   * when the cluster has no Secret; the health is then stored in its ManagedCluster.
   */
  readonly secret: { readonly namespace: string; readonly name: string } | undefined;
}

/**
 * Which resources of the cluster are to be in the index, as hub objects say: PediaCluster's `syncResources` and
 * `syncAllCustomResources`, or Karmada's ResourceRegistries.
 */
export interface SourceIndexing {
  /**
   * Resources to index; without any, nothing of the cluster is indexed. `*` as group or resource means all; with an
   * empty `versions` the index chooses a version. Without `namespaces`, objects of all namespaces are indexed.
   */
  readonly resources: readonly {
    readonly group: string;
    readonly resource: string;
    readonly versions: readonly string[];
    readonly namespaces?: readonly string[];
  }[];
  /** Whether every resource of a CustomResourceDefinition is indexed, too. */
  readonly allCustomResources: boolean;
  /** Names of the ResourceRegistries that select the cluster; absent for sources that read no ResourceRegistries. */
  readonly registries?: readonly string[];
}

/** Authenticates the gateway to a member. Must not be logged. */
export interface Credential {
  /** Value of the `Authorization` header; undefined when there is only a client certificate. */
  readonly authorization: string | undefined;
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined;
  /** Expiry in Unix milliseconds; undefined when unknown. */
  readonly expiresAtMs: number | undefined;
}

/** Provides the credential that the gateway uses for one cluster. */
export interface CredentialSource {
  readonly kind: 'none' | 'token' | 'token-file' | 'client-certificate' | 'basic' | 'exec';
  /**
   * The current credential. A value when the credential is known; a promise while an exec plugin runs (one run at a
   * time, at most 30 s by default).
   * @throws GatewayError MEMBER_CREDENTIAL (or rejects with it) when there is no usable credential
   */
  current(): Credential | Promise<Credential>;
  /**
   * To be called when the member answered 401: the next `current()` tries to get a new credential. The refused
   * credential is used again only if no new one can be had and the refused one has not expired.
   */
  invalidate(): void;
}

/**
 * The user as whom requests are sent to a cluster. `impersonate`: the user of the request, by the gateway's credential
 * and impersonation headers. `self`: the user of the gateway's credential, without impersonation.
 */
export type IdentityMode = 'impersonate' | 'self';

/** A Kubernetes condition: metav1.Condition without observedGeneration. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** What a source (a kubeconfig, or objects on a hub) says about a cluster. Frozen. */
export interface ClusterSpec {
  /**
   * Name of the cluster in request paths. From a kubeconfig it is a DNS label: `[a-z0-9-]`, at most 63 characters. From
   * a hub it is a DNS subdomain of at most 253 characters. A source gives the name that the cluster asks for, or '' for
   * none; in a record of the store it is the name that the cluster has.
   */
  readonly name: string;
  /**
   * Only of a context of a kubeconfig, when `name` was made by changing `originalName`: a DNS label with a digest of
   * the whole original. The cluster gets this name when `name` belongs to another one.
   */
  readonly digestName?: string;
  /** Name as written in the source, for example the name of a kubeconfig context. */
  readonly originalName: string;
  /** UID of this cluster. When another server is registered under the same name, it has another uid. */
  readonly uid: string;
  /** Name of the source for messages, for example `kubeconfig`. */
  readonly source: string;
  /** Where exactly the cluster was read from, for example file and context. */
  readonly sourceDetail: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `creationTimestamp` of the object that registers the cluster; absent when no object does, as in a kubeconfig. */
  readonly registeredAt?: string;
  /**
   * Another cluster record of the same API server that was registered earlier. Only the cluster store sets this field,
   * and only when one of the two records comes from a PediaCluster.
   */
  readonly sameAs?: Pick<ClusterSpec, 'name' | 'labels' | 'sourceDetail'>;
  readonly endpoint: Endpoint | undefined;
  readonly tls: TlsTrust;
  readonly proxy: ProxyAddress | undefined;
  readonly credential: CredentialSource | undefined;
  /**
   * A hash of endpoint, TLS trust, proxy and client certificate. While this hash is unchanged, pooled connections may
   * be kept; a new token does not change it.
   */
  readonly transportKey: string;
  /** Further addresses, tried in order after `endpoint`. */
  readonly fallbacks?: readonly EndpointOption[];
  /** Conditions from the source's objects. They are shown together with the conditions of the probe. */
  readonly conditions?: readonly SourceCondition[];
  /**
   * The cluster's own rules for replacing the user that requests go out as, unparsed from cluster-gateway's annotation;
   * parsed by auth/outgoing/identity-exchange.ts.
   */
  readonly identityExchange?: string;
  readonly clusterGateway?: ClusterGatewayView;
  /** Which resources to index, as the source says; undefined when the gateway's configuration decides. */
  readonly indexing?: SourceIndexing;
  /**
   * Annotations below `index.portcullis.io/` of the object that registers the cluster, by their full name; parsed by
   * sync/discover/index-options.ts. Absent when there are none.
   */
  readonly indexOptions?: Readonly<Record<string, string>>;
  /**
   * Decides which addresses of the cluster the gateway may connect to; undefined allows all, as for clusters that the
   * operator configured.
   */
  readonly addressRule?: AddressRule;
  /**
   * Why the cluster cannot be used at all; undefined when it can. Reasons are `NameConflict`, `InvalidConfiguration`
   * and others.
   */
  readonly problem: { readonly reason: string; readonly message: string } | undefined;
}

/** The results of the health probe for a cluster. Frozen. */
export interface ClusterStatus {
  readonly conditions: readonly Condition[];
  /** `gitVersion` of the API server; '' while unknown. */
  readonly version: string;
  /** Duration of the last successful probe in milliseconds; undefined before the first. */
  readonly latencyMs: number | undefined;
  /**
   * The state of indexing the cluster, as a short text and as a condition; undefined without an index. Written by the
   * index, not by the probe.
   */
  readonly indexed?: { readonly summary: string; readonly condition: Condition };
}

/** One cluster at one moment. A request reads the record once; every change replaces the whole record. */
export interface ClusterRecord {
  readonly spec: ClusterSpec;
  readonly status: ClusterStatus;
  /** Since when the store of this process has a cluster with this uid; RFC 3339 with seconds. */
  readonly createdAt: string;
  /** A decimal number that increases with every change in the store; a string as in Kubernetes. */
  readonly resourceVersion: string;
}
