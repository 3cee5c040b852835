// The type for the address and credential with which a command reaches the gateway.

/**
 * How to reach the gateway, and with which credential. Security: a Connection must never be logged, since it holds the
 * credential.
 */
export interface Connection {
  /** URL of the gateway's root: https, without a trailing slash. */
  readonly root: string;
  /** PEM bundle of the CAs that may sign the gateway's certificate; undefined means Node's and the system's CAs. */
  readonly ca: string | undefined;
  /**
   * Host name to send by SNI and to verify in the certificate, in place of the URL's host: `tls-server-name` of a
   * kubeconfig.
   */
  readonly serverName: string | undefined;
  /** True for `insecure-skip-tls-verify` of a kubeconfig: the certificate is not verified. No flag sets this. */
  readonly insecure: boolean;
  readonly token: string | undefined;
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined;
  /** The HTTP proxy to use, in the form of Node's option `proxyEnv`; empty for no proxy. */
  readonly proxyEnv: { readonly HTTPS_PROXY?: string };
}
