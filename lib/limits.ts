// Numbers that several rooms must agree on, with their unit in the name and the source they were taken from.

/** Bytes of one request or response head we accept; kube-apiserver's http.Server.MaxHeaderBytes default is 1 MiB. */
export const maxHeaderBytes = 1024 * 1024;
/**
 * Header pairs an HTTP/2 end accepts; Node's default of 128 truncates users in many groups (rule "HTTP/2 limits are
 * set").
 */
export const maxHeaderPairs = 20_000;
/**
 * Streams we put on one HTTP/2 session towards a member: a kube-apiserver allows 100, Node queues the rest in silence.
 */
export const maxUpstreamStreamsPerSession = 90;
/** Streams a client may open on one HTTP/2 connection, as kube-apiserver advertises. */
export const maxClientStreams = 100;
/** Longest wait for a TCP and TLS connection to a member. */
export const connectTimeoutMs = 5_000;
/** Longest wait for the first response byte of a short request. */
export const firstByteTimeoutMs = 60_000;
