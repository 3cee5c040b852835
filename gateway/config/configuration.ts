// The type of a checked configuration, as the rest of the program reads it.
import type { IdentityMode } from '../../cache/model/records.ts';
import type { AuditConfig } from '../audit/config.ts';
import type { AuthenticationFlags } from './authentication-flags.ts';
import type { LogLevel } from '../operations/log.ts';
import type { HostPort } from '../../lib/text/host-port.ts';
import type { HubConfig } from './hub-config.ts';
import type { IdentityConfig } from './identity-config.ts';
import type { IndexConfig } from './index-config.ts';
import type { LimitsConfig } from './limits-config.ts';
import type { TracingConfig } from '../tracing/config.ts';

/** Everything that `portcullis serve` needs to know. Paths are absolute. */
export interface Config {
  readonly listen: HostPort;
  readonly opsListen: HostPort;
  readonly dataDir: string;
  readonly kubeconfigs: readonly string[];
  readonly tokenAuthFile: string | undefined;
  readonly clientCaFile: string | undefined;
  readonly authentication: AuthenticationFlags;
  readonly authorizationRules: string | undefined;
  readonly identity: IdentityMode;
  readonly clusterDomain: string | undefined;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly logLevel: LogLevel;
  /** At shutdown, how long readyz fails before the gateway stops to accept requests. */
  readonly shutdownDelayMs: number;
  /** At shutdown, how long running requests may go on after the gateway has stopped to accept new ones. */
  readonly shutdownGraceMs: number;
  readonly firstByteTimeoutMs: number;
  readonly probeIntervalMs: number;
  /**
   * In tests below 1: the factor by which all durations were shortened. The durations in this object include it
   * already.
   */
  readonly timeScale: number;
  /** Rules for the user that member clusters see. */
  readonly outgoing: IdentityConfig;
  readonly limits: LimitsConfig;
  /** Undefined when there is no audit log. */
  readonly audit: AuditConfig | undefined;
  /** Undefined when there is no hub. */
  readonly hub: HubConfig | undefined;
  /** Undefined or absent when there is no index. */
  readonly index?: IndexConfig | undefined;
  /** Undefined or absent when nothing is traced. */
  readonly tracing?: TracingConfig | undefined;
  /** Number of worker processes. Absent or 1: one process does everything. */
  readonly workers?: number;
}
