// The part of a body's object that an audit event shows.

/** The metadata that an objectRef shows. A field is absent when the body does not have it. */
export interface BodyMetadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}
