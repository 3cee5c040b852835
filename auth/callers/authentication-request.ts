// The data that callers are authenticated by, from the request and its connection.

/** Everything about a request that authenticators may use. */
export interface AuthenticationRequest {
  /** Flat list `[name, value, …]` as received; values have one latin1 character for each byte. */
  readonly rawHeaders: readonly string[];
  /**
   * DER certificates that the client presented in the TLS handshake, its own first; empty for none. The handshake
   * proved that the client has the private key.
   */
  readonly peerCertificates: readonly Uint8Array[];
  /**
   * Whether the TLS library accepted the certificates at the handshake. For logs only: they may have expired since, or
   * their CA may have been removed (rule "certificates judged on every request" in docs/rules.md).
   */
  readonly tlsAuthorized: boolean;
  /** An object that is the same for all requests of one connection. */
  readonly connection?: object;
  /**
   * Host and port that the request was sent to, from `Host` or `:authority`. When undefined, no web page counts as
   * being of the same origin.
   */
  readonly authority?: string;
  /**
   * Path of the request on the gateway; undefined when the host name selects a cluster, because the path is then one of
   * that cluster.
   */
  readonly path?: string;
}
