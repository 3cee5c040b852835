// The error of a cluster that cannot be used as it is configured; a source catches it and makes it the `problem` of
// that one cluster. The message ends up in the cluster's public status, so it names fields and files, never their
// content.
import { GatewayError } from '../model/errors.ts';

/** A GatewayError CLUSTER_UNUSABLE. */
export function unusable(message: string): GatewayError {
  return new GatewayError('CLUSTER_UNUSABLE', message);
}

/** The same with a reason of its own for the cluster's problem; others are `InvalidConfiguration`. */
export class SourceFault extends GatewayError {
  readonly problemReason: string;

  /** @param problemReason CamelCase, as reasons of conditions are */
  constructor(problemReason: string, message: string) {
    super('CLUSTER_UNUSABLE', message);
    this.problemReason = problemReason;
  }
}
