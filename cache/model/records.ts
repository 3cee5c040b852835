// The immutable record of one cluster: every source produces it, and a request reads nothing else about a cluster. A
// record is never changed in place but swapped for a new one (rule "records swap whole").
import type { AddressRule } from './address-rule.ts';

/** Where the API server of a cluster listens. Always https unless the kubeconfig said http. */
export interface Endpoint {
  readonly scheme: 'https' | 'http';
  /** Host name or IP literal without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path prefix without trailing slash, '' for none (an API server behind Rancher or another gateway has one). */
  readonly basePath: string;
}

/** How the endpoint's certificate is verified. */
export interface TlsTrust {
  /** PEM bundle; undefined means the system roots. */
  readonly ca: string | undefined;
  /** SNI and name to verify in place of the endpoint's host. */
  readonly serverName: string | undefined;
  /** `insecure-skip-tls-verify`; reported in the cluster's conditions. */
  readonly insecure: boolean;
}

/**
 * What a connection to a member goes through: `proxy-url` of a kubeconfig, or a tunnel server such as konnectivity's.
 */
export interface ProxyAddress {
  /** `unix` speaks HTTP CONNECT over the socket at `socketPath`. */
  readonly scheme: 'http' | 'https' | 'socks5' | 'unix';
  readonly host: string;
  readonly port: number;
  /** `user:password` of the URL, decoded. Never logged. */
  readonly userinfo: { readonly username: string; readonly password: string } | undefined;
  /** With scheme unix: absolute path of the socket. */
  readonly socketPath?: string;
  /**
   * With scheme https: PEMs that verify the proxy and that prove who we are to it; absent means system roots and no
   * certificate.
   */
  readonly tls?: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly serverName?: string;
  };
  /** Sent with CONNECT only (Karmada's `proxyHeader`). Never logged. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

/** Another address of the same cluster, tried when the ones before it do not accept a connection. */
export interface EndpointOption {
  readonly endpoint: Endpoint;
  readonly tls: TlsTrust;
}

/** A condition as a source reads it from its objects; the probe's are in {@link ClusterStatus}. */
export interface SourceCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/**
 * What cluster-gateway's own API shows of a cluster (cluster.core.oam.dev/v1alpha1 ClusterGateway). Holds no secret.
 */
export interface ClusterGatewayView {
  /** `ServiceAccountToken`, `X509Certificate`, `Dynamic`. */
  readonly credentialType: string;
  /** `Const` or `ClusterProxy`. */
  readonly endpointType: string;
  /** Of the Secret or ManagedCluster: what the object's metadata is made from. */
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  /** Where `health` is kept: the Secret's namespace and name; undefined when there is no such Secret. */
  readonly secret: { readonly namespace: string; readonly name: string } | undefined;
}

/** What a source's object itself says about the index (PediaCluster's `syncResources`, `syncAllCustomResources`). */
export interface SourceIndexing {
  /** `*` stands for every group, or every resource of a group; an empty `versions` leaves the choice to the index. */
  readonly resources: readonly {
    readonly group: string;
    readonly resource: string;
    readonly versions: readonly string[];
  }[];
  readonly allCustomResources: boolean;
}

/** What authenticates us to a member, ready to use. Never logged. */
export interface Credential {
  /** Whole value of the `Authorization` header; undefined when there is only a client certificate. */
  readonly authorization: string | undefined;
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined;
  /** Unix milliseconds, undefined when unknown. */
  readonly expiresAtMs: number | undefined;
}

/**
 * Gives the credential now. Synchronous when it is known; a promise while an exec plugin runs (one run at a time, at
 * most 30 s).
 */
export interface CredentialSource {
  readonly kind: 'none' | 'token' | 'token-file' | 'client-certificate' | 'basic' | 'exec';
  /** @throws GatewayError MEMBER_CREDENTIAL (or a promise rejected with it) when there is none */
  current(): Credential | Promise<Credential>;
  /**
   * The member answered 401: the next `current()` asks anew. A cached credential that has not expired is used again
   * only when no other can be had.
   */
  invalidate(): void;
}

/** As whom requests to this cluster go out. */
export type IdentityMode = 'impersonate' | 'self';

/** Kubernetes condition (metav1.Condition without observedGeneration). */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** What a source says about a cluster. Frozen. */
export interface ClusterSpec {
  /** Name in paths: a DNS label for kubeconfig sources (`[a-z0-9-]`, at most 63). */
  readonly name: string;
  /** Name as the source wrote it (context name). */
  readonly originalName: string;
  /** Identity of this registration, a UUID. Another server under the same name has another uid. */
  readonly uid: string;
  /** Name of the source for people: `kubeconfig`. */
  readonly source: string;
  /** Where it was read: file path and context. */
  readonly sourceDetail: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly endpoint: Endpoint | undefined;
  readonly tls: TlsTrust;
  readonly proxy: ProxyAddress | undefined;
  readonly credential: CredentialSource | undefined;
  /**
   * Equal keys mean that pooled connections may be kept: a digest of endpoint, trust, proxy and client certificate.
   * Token changes do not change it.
   */
  readonly transportKey: string;
  /** Tried in order after `endpoint`; absent means there is one address only. */
  readonly fallbacks?: readonly EndpointOption[];
  /** What the objects of the source say about the cluster; shown beside the probe's conditions. */
  readonly conditions?: readonly SourceCondition[];
  /**
   * The per-cluster rules of cluster-gateway's identity exchange, as written in the annotation;
   * auth/outgoing/identity-exchange.ts reads them.
   */
  readonly identityExchange?: string;
  readonly clusterGateway?: ClusterGatewayView;
  /** Absent: the configuration decides what is indexed. */
  readonly indexing?: SourceIndexing;
  /** Which addresses its connections may go to; absent means any, as for clusters that the operator wrote down. */
  readonly addressRule?: AddressRule;
  /** Set when the cluster cannot be used at all: `NameConflict`, `InvalidConfiguration`, … */
  readonly problem: { readonly reason: string; readonly message: string } | undefined;
}

/** What the probe found. Frozen. */
export interface ClusterStatus {
  readonly conditions: readonly Condition[];
  /** `gitVersion` of the member, '' while unknown. */
  readonly version: string;
  /** Round trip of the last successful probe. */
  readonly latencyMs: number | undefined;
  /**
   * How it stands in the index, in a word and as a condition; absent while there is no index of it. Kept by the index,
   * not by the probe.
   */
  readonly indexed?: { readonly summary: string; readonly condition: Condition };
}

/** One cluster as requests see it: read once per request, replaced whole. */
export interface ClusterRecord {
  readonly spec: ClusterSpec;
  readonly status: ClusterStatus;
  /** RFC 3339, seconds: when this uid was first seen by this process or on disk. */
  readonly createdAt: string;
  /** Strictly increasing decimal over all records of the store; string as in Kubernetes. */
  readonly resourceVersion: string;
}
