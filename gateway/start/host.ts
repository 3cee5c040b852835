// The services that the first of several processes at one port offers to each worker: tasks that only one process may
// do, or whose results must be the same in all. A gateway of one process has no host and does all of this itself.
import type { Server } from 'node:net';
import type { Registry } from 'prom-client';
import type { ExecSettings } from '../../cache/sources/kubeconfig/kubeconfig-credential.ts';
import type { HostPort } from '../../lib/text/host-port.ts';
import type { IndexPeers } from '../../search/peers.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { MetricsPage } from '../operations/operations.ts';
import type { ConnectionGiver } from './tls-server.ts';

/** The services of the first process for one worker. */
export interface Host {
  /** Gives the listener for requests its client connections. */
  readonly connections: ConnectionGiver;
  /** Gives the operations listener its connections. Resolves with the port that clients connect to. */
  openOperations(server: Server, at: HostPort): Promise<number>;
  /** Returns the metrics page of all processes together. `own` is the registry of this worker. */
  metricsPage(own: Registry): MetricsPage;
  /** The audit sinks, which send events to the first process; empty without an audit log. */
  readonly auditSinks: readonly AuditSink[];
  /** Runs a credential plugin once for all processes: a plugin may open a browser, or invalidate its previous token. */
  readonly plugins: Pick<ExecSettings, 'run'>;
  /** Messages to and from the processes that share the index. */
  readonly indexPeers: IndexPeers;
  /** True when the gateway is shutting down. */
  isEnding(): boolean;
}
