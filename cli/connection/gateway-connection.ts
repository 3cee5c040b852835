// How a command reaches the gateway, and as whom.

/** How to reach the gateway and who to be there. Never logged. */
export interface Connection {
  /** Root of the gateway, https, without trailing slash. */
  readonly root: string;
  /** PEM bundle that the gateway's certificate must chain to; undefined means the public and system roots. */
  readonly ca: string | undefined;
  /** SNI and name to verify in place of the host (`tls-server-name`). */
  readonly serverName: string | undefined;
  /** `insecure-skip-tls-verify` of a kubeconfig; there is no flag for it. */
  readonly insecure: boolean;
  readonly token: string | undefined;
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined;
  /** The proxy to go through, in the form of Node's `proxyEnv`; empty for none. */
  readonly proxyEnv: { readonly HTTPS_PROXY?: string; readonly NO_PROXY?: string };
}
