// The messages between the first process and its workers. No message says who a caller is or which clusters exist: each
// worker finds that out by itself.
import type { ExecResult, ExecRun } from '../../cache/credentials/exec-run.ts';
import type { PeerMessage } from '../../search/peers.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { Config } from '../config/configuration.ts';
import type { Gateway } from '../start/gateway.ts';
import type { StartFault, WireError } from './wire-error.ts';

/** Everything a worker needs to start. */
export interface WorkerStart {
  /** The configuration, with limits already divided by the number of workers. */
  readonly config: Config;
  readonly version: string;
  /** Whether each audit sink takes events now. Empty without an audit log. */
  readonly sinks: SinkStates;
}

export type SinkStates = ReadonlyMap<AuditSink['name'], boolean>;

/** The message of a worker that has started. Of `opsUrl` only the scheme is used. */
export type ReadyWorker = Pick<Gateway, 'caFile' | 'selfToken' | 'opsUrl'>;

/** One run of a credential plugin, without the abort signal, which cannot be sent to another process. */
export type PluginRun = Omit<ExecRun, 'signal'>;

/** Questions of a worker that only the first process can answer. */
export type Question =
  | { readonly what: 'metrics' }
  | { readonly what: 'plugin'; readonly run: PluginRun }
  /** Writes a line to a sink and answers whether it was stored. Only for sinks that report that. */
  | { readonly what: 'audit'; readonly sink: AuditSink['name']; readonly line: string };

export type Answer = string | ExecResult | boolean;

/** The listener that has accepted a connection. */
export type Port = 'requests' | 'operations';

/** One metric as prom-client writes it in JSON. */
export interface MetricReading {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly object[];
}

export type ToWorker =
  | { readonly kind: 'start'; readonly start: WorkerStart }
  | { readonly kind: 'sinks'; readonly accepting: SinkStates }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  | { readonly kind: 'failure'; readonly id: number; readonly error: WireError }
  | { readonly kind: 'peer'; readonly message: PeerMessage }
  | { readonly kind: 'read-metrics' }
  | { readonly kind: 'ping' }
  | { readonly kind: 'unready' }
  | { readonly kind: 'drain' };

export type FromWorker =
  | { readonly kind: 'ready'; readonly worker: ReadyWorker }
  | { readonly kind: 'failed'; readonly fault: StartFault }
  /** Sent when the readiness (`readyz`) of this worker changes. */
  | { readonly kind: 'health'; readonly isReady: boolean }
  | { readonly kind: 'note'; readonly text: string | undefined }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  /** How many connections have closed since the last message of this kind. */
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'audit'; readonly sink: AuditSink['name']; readonly line: string }
  /** A message to the other workers; the first process passes it on. */
  | { readonly kind: 'peer'; readonly message: PeerMessage }
  | { readonly kind: 'metrics'; readonly metrics: readonly MetricReading[] }
  | { readonly kind: 'pong' }
  | { readonly kind: 'drained' };
