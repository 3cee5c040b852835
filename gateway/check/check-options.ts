// Options of `portcullis check`.

/** Options of `portcullis check`. */
export interface CheckOptions {
  /** True to read files only: no cluster and no hub is asked, and no exec plugin is run. */
  readonly offline: boolean;
  readonly nowMs: number;
  readonly version: string;
}
