// Types of the flags of `serve`, `demo` and `check` as the person wrote them: unchecked text, undefined when not given.
// Flags of `serve` get no default values here. A flag overrides the configuration file, so a default value here would
// override the file as well.
import type { ConfigInput } from '../config/written.ts';

/** Flags of `portcullis serve`. Their values are checked later, with the rest of the configuration. */
export type ServeOptions = ConfigInput;

/** Flags of `portcullis demo`. Default values are filled in already, since the demo reads no configuration file. */
export interface DemoOptions {
  /** Listen address of the gateway, as `HOST:PORT`. */
  readonly listen: string;
  /** Listen address for metrics and health checks, as `HOST:PORT`. */
  readonly opsListen: string;
  /** Number of simulated clusters, from 1 to 100. */
  readonly clusters: number;
  /** Path at which the kubeconfig is written; when undefined, the demo chooses one. */
  readonly kubeconfigOut?: string;
}

/**
 * The commands that need the code of the gateway. Each promise resolves with the exit code; undefined means 0. When a
 * promise rejects, the error is printed, and the exit code is its field `exitCode`, or 1.
 */
export interface LongRunningVerbs {
  serve(options: ServeOptions): Promise<number | void>;
  demo(options: DemoOptions): Promise<number | void>;
  /** Runs `portcullis check`, which ends by itself; `serve` and `demo` run until they get a signal. */
  check(options: CheckOptions): Promise<number | void>;
}

/** Flags of `portcullis check`: its own, and all flags of `serve`. */
export interface CheckOptions extends ServeOptions {
  readonly output: 'table' | 'json';
  readonly offline?: boolean;
  readonly accept?: string;
}
