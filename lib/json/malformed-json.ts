// What every reader of a member's or a hub's JSON throws for bytes that break the rules.

/** The answer breaks the Kubernetes API's own rules; what it said cannot be used. */
export class MalformedAnswer extends Error {}
