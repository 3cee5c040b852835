// The messages between the first process and its workers. No message says who a caller is or which clusters exist: each
// worker finds out both by itself.
import type { ExecResult, ExecRun } from '../../cache/credentials/exec-run.ts';
import type { PeerMessage } from '../../sync/shared/peers.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { Config } from '../../config/configuration.ts';
import type { Gateway } from '../start/gateway.ts';
import type { StartFault, WireError } from './wire-error.ts';

/** The configuration and the state with which the first process starts a worker. */
export interface WorkerStart {
  /** The configuration, with limits already divided by the number of workers. */
  readonly config: Config;
  readonly version: string;
  /** For each audit sink, whether it accepts events at present. Empty when nothing is audited. */
  readonly sinks: SinkStates;
}

export type SinkStates = ReadonlyMap<AuditSink['name'], boolean>;

/** The data that a worker sends when it has started. Only the scheme of its `opsUrl` is used. */
export type ReadyWorker = Pick<Gateway, 'caFile' | 'selfToken' | 'opsUrl'>;

/** One run of an exec plugin for a credential, without the abort signal, which cannot be sent to another process. */
export type PluginRun = Omit<ExecRun, 'signal'>;

/** What a worker asks the first process to do, each with an answer. */
export type Question =
  | { readonly what: 'metrics' }
  | { readonly what: 'plugin'; readonly run: PluginRun }
  /** Writes a line to a sink; the answer says whether the line was stored. Only for sinks that report this. */
  | { readonly what: 'audit'; readonly sink: AuditSink['name']; readonly line: string };

export type Answer = string | ExecResult | boolean;

/**
 * Which of the gateway's two listeners has accepted a connection: the one for clients, or the one for metrics and
 * health checks.
 */
export type Port = 'requests' | 'operations';

/** One metric with its values, as prom-client writes it in JSON. */
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
  /** Sent when the result of readyz changes in this worker. */
  | { readonly kind: 'health'; readonly isReady: boolean }
  | { readonly kind: 'note'; readonly text: string | undefined }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  /** How many client connections of the worker have closed since the last message of this kind. */
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'audit'; readonly sink: AuditSink['name']; readonly line: string }
  /** A message to the other workers; the first process sends it to each of them. */
  | { readonly kind: 'peer'; readonly message: PeerMessage }
  | { readonly kind: 'metrics'; readonly metrics: readonly MetricReading[] }
  | { readonly kind: 'pong' }
  | { readonly kind: 'drained' };
