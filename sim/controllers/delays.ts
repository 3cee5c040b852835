// The delays with which the simulated controllers work, so that tests can shorten them.

/** How long things take in the simulated cluster, in milliseconds. */
export interface ControllerDelays {
  /** The time from the scheduling of a pod until it runs. */
  readonly podStartMs: number;
  /** The time from the deletion of a pod until it is gone; never longer than the pod's grace period. */
  readonly podStopMs: number;
  /** How long the pod of a Job runs. */
  readonly jobRunMs: number;
}
