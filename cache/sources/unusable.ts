// Errors for a cluster whose configuration cannot be used. A source catches such an error and sets its message as the
// `problem` of the cluster. Users see the message, so it names fields and files but never their content.
import { GatewayError } from '../../model/errors.ts';

/** A GatewayError CLUSTER_UNUSABLE, shown with the reason `InvalidConfiguration`. */
export function unusable(message: string): GatewayError {
  return new GatewayError('CLUSTER_UNUSABLE', message);
}

/**
 * A GatewayError CLUSTER_UNUSABLE that is shown with the reason `problemReason` and not with `InvalidConfiguration`.
 */
export class SourceFault extends GatewayError {
  readonly problemReason: string;

  /** Makes the error. @param problemReason CamelCase, as in the `reason` of a Kubernetes condition */
  constructor(problemReason: string, message: string) {
    super('CLUSTER_UNUSABLE', message);
    this.problemReason = problemReason;
  }
}
