// The error for invalid JSON from a member or a hub.

/** An answer violates the rules of the Kubernetes API and cannot be used. */
export class MalformedAnswer extends Error {}
