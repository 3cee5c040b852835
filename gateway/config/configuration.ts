// The configuration of a gateway after every fault in it was reported: what the rest of the program reads.
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

/** Everything `serve` needs to know. Paths are absolute. */
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
  /** How long readyz fails while requests are still taken. */
  readonly shutdownDelayMs: number;
  /** How long requests under way may take after that. */
  readonly shutdownGraceMs: number;
  readonly firstByteTimeoutMs: number;
  readonly probeIntervalMs: number;
  /** By what times are shortened for a test; 1 otherwise. The durations here are shortened already. */
  readonly timeScale: number;
  /** As whom requests go out when they impersonate. */
  readonly outgoing: IdentityConfig;
  readonly limits: LimitsConfig;
  /** Undefined: nothing is audited. */
  readonly audit: AuditConfig | undefined;
  /** Undefined without a hub. */
  readonly hub: HubConfig | undefined;
  /** Undefined or absent: there is no index. */
  readonly index?: IndexConfig | undefined;
  /** Undefined or absent: nothing is traced. */
  readonly tracing?: TracingConfig | undefined;
  /** Processes that serve; absent or 1: the one process does everything. */
  readonly workers?: number;
}
