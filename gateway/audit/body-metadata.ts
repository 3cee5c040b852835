// The metadata of an object in a request body that an audit event shows in its objectRef.

/**
 * Metadata of the object in a request body, as far as an audit event's objectRef shows it. A field is absent when the
 * body does not have it.
 */
export interface BodyMetadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}
