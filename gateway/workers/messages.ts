// The messages between the first process and its workers. None of them says who somebody is: each worker authenticates
// by itself, from a file's text or the answer to a review.
import type { HubAnswer, HubCall } from '../../cache/hub/hub-types.ts';
import type { Credential } from '../../cache/model/records.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { Config } from '../config/configuration.ts';
import type { HealthCheck } from '../operations/health.ts';
import type { ServingPair } from '../certificates/serving.ts';
import type { WireEvent, WireSnapshot } from './cluster-wire.ts';
import type { WireError } from './wire-error.ts';

/** Everything a worker needs before it may be given a connection. */
export interface WorkerStart {
  /** With the bounds of one worker. */
  readonly config: Config;
  readonly version: string;
  /** resourceVersion of the store when the gateway started. */
  readonly startVersion: string;
  readonly clusters: WireSnapshot;
  /** Texts of the configuration's files as last found good, by the label of their files. */
  readonly files: ReadonlyMap<string, readonly string[]>;
  readonly serving: ServingPair;
  /** The hub's trust that is in force; undefined before it was read, or without a hub. */
  readonly trust: TrustData | undefined;
  readonly checks: readonly ReplicaCheck[];
  /** Whether each sink takes events; empty without an audit log. */
  readonly sinks: ReadonlyMap<AuditSink['name'], boolean>;
}

/** `data` of the ConfigMap with the hub's trust. */
export type TrustData = Readonly<Record<string, unknown>>;

/** A check of the first process with what it found. */
export interface ReplicaCheck extends Pick<HealthCheck, 'name' | 'on'> {
  readonly fault: string | undefined;
  readonly note: string | undefined;
}

/** What only the first process can answer. */
export type Question =
  | { readonly what: 'hub'; readonly call: Omit<HubCall, 'signal'> }
  | { readonly what: 'credential'; readonly id: number }
  /** Whether a line was stored; only for sinks that know. */
  | { readonly what: 'audit'; readonly sink: AuditSink['name']; readonly line: string };

export type Answer = HubAnswer | Credential | boolean;

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
  | { readonly kind: 'clusters'; readonly events: readonly WireEvent[] }
  | { readonly kind: 'file'; readonly label: string; readonly texts: readonly string[] }
  | { readonly kind: 'serving'; readonly pair: ServingPair }
  | { readonly kind: 'trust'; readonly data: TrustData }
  | { readonly kind: 'checks'; readonly checks: readonly ReplicaCheck[] }
  /** What the probe found: why no requests should be sent there, or undefined for an answer. */
  | { readonly kind: 'probed'; readonly found: readonly (readonly [uid: string, fault: WireError | undefined])[] }
  | { readonly kind: 'forget-credential'; readonly id: number }
  | { readonly kind: 'sinks'; readonly accepting: ReadonlyMap<AuditSink['name'], boolean> }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  | { readonly kind: 'failure'; readonly id: number; readonly error: WireError }
  | { readonly kind: 'read-metrics' }
  | { readonly kind: 'ping' }
  | { readonly kind: 'unready' }
  | { readonly kind: 'drain' };

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question }
  | { readonly kind: 'credential-refused'; readonly id: number }
  /** Connections that closed since the last such message. */
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'audit'; readonly sink: AuditSink['name']; readonly line: string }
  | { readonly kind: 'metrics'; readonly metrics: readonly MetricReading[] }
  | { readonly kind: 'pong' }
  | { readonly kind: 'drained' };
