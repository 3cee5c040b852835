// With several worker processes at one port, the first process does some tasks for each worker: those that only one
// process may do, or whose result must be the same in all. This is the interface by which a worker uses them. A gateway
// of one process has no host and does these tasks itself.
import type { Server } from 'node:net';
import type { Registry } from 'prom-client';
import type { ExecSettings } from '../../cache/sources/kubeconfig/kubeconfig-credential.ts';
import type { HostPort } from '../../lib/text/host-port.ts';
import type { IndexPeers } from '../../sync/shared/peers.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { MetricsPage } from './operations.ts';
import type { ConnectionGiver } from '../listener/tls-server.ts';

/** The services of the first process for one worker. */
export interface Host {
  /** Gives the worker's listener for requests the client connections that the first process has accepted. */
  readonly connections: ConnectionGiver;
  /**
   * Gives the worker's operations listener the connections that the first process has accepted. Resolves with the port
   * that clients connect to.
   */
  openOperations(server: Server, at: HostPort): Promise<number>;
  /** Returns the metrics page of all processes together. `own` is the registry of this worker. */
  metricsPage(own: Registry): MetricsPage;
  /** The audit sinks, which send events to the first process; empty without an audit log. */
  readonly auditSinks: readonly AuditSink[];
  /**
   * Runs an exec plugin for a credential once for all processes: a plugin may open a browser, or invalidate its
   * previous token.
   */
  readonly plugins: Pick<ExecSettings, 'run'>;
  /** Messages to and from the processes that share the index. */
  readonly indexPeers: IndexPeers;
  /** True when the gateway is shutting down. */
  isEnding(): boolean;
}
