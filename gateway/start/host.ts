// What the first of several processes at one port does for each of the others: what only one process may do, or what
// must be the same in all of them. A gateway of one process has no host and does all of it itself.
import type { Server } from 'node:net';
import type { Registry } from 'prom-client';
import type { ExecSettings } from '../../cache/sources/kubeconfig/kubeconfig-credential.ts';
import type { HostPort } from '../../lib/text/host-port.ts';
import type { IndexPeers } from '../../search/peers.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { MetricsPage } from '../operations/operations.ts';
import type { ConnectionGiver } from './tls-server.ts';

/** See the file comment. */
export interface Host {
  /** Of clients. */
  readonly connections: ConnectionGiver;
  /** Gives the operations listener its connections; resolves with the port clients see. */
  openOperations(server: Server, at: HostPort): Promise<number>;
  /** The metrics of all processes. */
  metricsPage(own: Registry): MetricsPage;
  /** Empty without an audit log. */
  readonly auditSinks: readonly AuditSink[];
  /** A plugin runs once for all processes: it may open a browser, or take the token away that it gave before. */
  readonly plugins: Pick<ExecSettings, 'run'>;
  /** The index of the other processes. */
  readonly indexPeers: IndexPeers;
  /** All processes are about to end. */
  isEnding(): boolean;
}
