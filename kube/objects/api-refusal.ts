// The error of a request of our own code that an API server, the hub's or a member's, answers with an error status.

/** An API server answered with an error status. The subclasses tell whether it was the hub's or a member's. */
export class ApiRefusal extends Error {
  /** HTTP status of the answer. */
  readonly status: number;
  /** `reason` of the metav1.Status in the answer; '' when it has none. */
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}
