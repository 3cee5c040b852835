// Limits that several top-level folders share: the size of request and response heads, header fields, streams of an
// HTTP/2 connection, and the time to the first byte.

/** Largest request or response head in bytes; the default of kube-apiserver (Go's http.Server.MaxHeaderBytes). */
export const maxHeaderBytes = 1024 * 1024;
/**
 * Maximum number of header fields in a request or response head. For HTTP/2, Node's default of 128 would drop groups of
 * a user who has many (rule "HTTP/2 limits are set" in docs/rules.md).
 */
export const maxHeaderPairs = 20_000;
/**
 * Maximum number of concurrent streams on one HTTP/2 connection to a member. A kube-apiserver allows 100; Node would
 * queue further streams without notice.
 */
export const maxUpstreamStreamsPerSession = 90;
/**
 * Maximum number of streams that a client may open on one HTTP/2 connection; kube-apiserver announces the same number.
 */
export const maxClientStreams = 100;
/** Longest time in milliseconds to establish a TCP and TLS connection to a member; then the attempt fails. */
export const connectTimeoutMs = 5_000;
/**
 * Longest time in milliseconds until the first byte of a member's answer; then the request fails. Not for watches and
 * other streams.
 */
export const firstByteTimeoutMs = 60_000;
