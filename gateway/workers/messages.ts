// The messages between the first process and its workers. None of them says who somebody is or which clusters there
// are: each worker finds that out by itself.
import type { ExecResult, ExecRun } from '../../cache/credentials/exec-run.ts';
import type { PeerMessage } from '../../search/peers.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { Config } from '../config/configuration.ts';
import type { Gateway } from '../start/gateway.ts';
import type { StartFault, WireError } from './wire-error.ts';

/** Everything a worker needs to start. */
export interface WorkerStart {
  /** With the bounds of one worker. */
  readonly config: Config;
  readonly version: string;
  /** Whether each sink takes events; empty without an audit log. */
  readonly sinks: SinkStates;
}

export type SinkStates = ReadonlyMap<AuditSink['name'], boolean>;

/** What the first process shows of a gateway; `opsUrl` for its scheme. */
export type ReadyWorker = Pick<Gateway, 'caFile' | 'selfToken' | 'opsUrl'>;

/** Without what cannot be sent. */
export type PluginRun = Omit<ExecRun, 'signal'>;

/** What only the first process can answer. */
export type Question =
  | { readonly what: 'metrics' }
  | { readonly what: 'plugin'; readonly run: PluginRun }
  /** Whether a line was stored; only for sinks that know. */
  | { readonly what: 'audit'; readonly sink: AuditSink['name']; readonly line: string };

export type Answer = string | ExecResult | boolean;

/** Which listener has accepted a connection. */
export type Port = 'requests' | 'operations';

/** One metric in prom-client's JSON. */
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
  /** What readyz says at this worker. */
  | { readonly kind: 'health'; readonly isReady: boolean }
  | { readonly kind: 'note'; readonly text: string | undefined }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  /** Connections that closed since the last such message. */
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'audit'; readonly sink: AuditSink['name']; readonly line: string }
  /** For all other workers. */
  | { readonly kind: 'peer'; readonly message: PeerMessage }
  | { readonly kind: 'metrics'; readonly metrics: readonly MetricReading[] }
  | { readonly kind: 'pong' }
  | { readonly kind: 'drained' };
