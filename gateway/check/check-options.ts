// The options of `portcullis check`.

/** How to check. */
export interface CheckOptions {
  /** Files only: no cluster and no hub is asked, no plugin is run. */
  readonly offline: boolean;
  readonly nowMs: number;
  readonly version: string;
}
