// How long the simulated controllers take.

/** How long things take in the simulated cluster. */
export interface ControllerDelays {
  /** From scheduled to running. */
  readonly podStartMs: number;
  /** From deleted to gone; never longer than the pod's grace period. */
  readonly podStopMs: number;
  /** How long a Job's pod runs. */
  readonly jobRunMs: number;
}
