// How a command reaches the gateway, and with which credential.

/** How to reach the gateway, and with which credential. Security: never log it. */
export interface Connection {
  /** URL of the gateway's root: https, without a trailing slash. */
  readonly root: string;
  /** PEM bundle of the CAs that may sign the gateway's certificate; undefined means Node's and the system's CAs. */
  readonly ca: string | undefined;
  /** Name to send (SNI) and to verify instead of the host name: `tls-server-name` of a kubeconfig. */
  readonly serverName: string | undefined;
  /** True for `insecure-skip-tls-verify` of a kubeconfig. There is no flag for it. */
  readonly insecure: boolean;
  readonly token: string | undefined;
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined;
  /** The proxy to use, in the form of Node's option `proxyEnv`; empty for none. */
  readonly proxyEnv: { readonly HTTPS_PROXY?: string; readonly NO_PROXY?: string };
}
