// What a caller is recognised by: what came with the request and with its connection.

/** All that authenticators may look at. */
export interface AuthenticationRequest {
  /** Flat `[name, value, …]` as received; values are latin1-decoded bytes. */
  readonly rawHeaders: readonly string[];
  /** DER certificates the TLS peer presented and proved to own, leaf first; empty when it presented none. */
  readonly peerCertificates: readonly Uint8Array[];
  /**
   * What the TLS library decided at the handshake. For logs only: a certificate may have expired since then, or its CA
   * may be gone (rule "certificates judged on every request").
   */
  readonly tlsAuthorized: boolean;
  /** Stands for the connection: the same object for every request on it. */
  readonly connection?: object;
  /** Host and port that the request was sent to: `Host` or `:authority`. Without it no page's origin is ours. */
  readonly authority?: string;
  /** Path of the request at this gateway; '' when the host names a cluster, whose paths are not ours. */
  readonly path?: string;
}
