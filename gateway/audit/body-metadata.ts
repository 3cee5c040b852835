// What an audit event says of the object in a body.

/** The part of an object's metadata that an objectRef shows. Absent where the body does not say. */
export interface BodyMetadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}
