// Flags of `serve` and `demo` as typed: text, unchecked, undefined where not given. `serve` gets no defaults here,
// because a value in --config wins over a default and loses to a flag.
import type { ConfigInput } from '../gateway/config/written.ts';

/** Raw flags of `portcullis serve`; `HOST:PORT` and paths are checked with the rest of the configuration. */
export type ServeOptions = ConfigInput;

/** Flags of `portcullis demo`; defaults filled in, as no file can say otherwise. */
export interface DemoOptions {
  /** `HOST:PORT` */
  readonly listen: string;
  /** `HOST:PORT` */
  readonly opsListen: string;
  /** Number of simulated clusters, 1 to 100. */
  readonly clusters: number;
  /** Where to write the kubeconfig; undefined lets the demo choose. */
  readonly kubeconfigOut?: string;
}

/**
 * Runs a gateway until it gets a signal. Resolves with the exit code; a rejection is printed and its `exitCode`
 * used, else 1.
 */
export interface LongRunningVerbs {
  serve(options: ServeOptions): Promise<number | void>;
  demo(options: DemoOptions): Promise<number | void>;
  /** Ends by itself, but needs a gateway's code. */
  check(options: CheckOptions): Promise<number | void>;
}

/** Flags of the verb, and those of serve. */
export interface CheckOptions extends ServeOptions {
  readonly output: 'table' | 'json';
  readonly offline?: boolean;
  readonly accept?: string;
}
