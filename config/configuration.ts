// The type of a checked configuration, as the rest of the program reads it.
import type { IdentityMode } from '../model/records.ts';
import type { AuditConfig } from './sections/audit-config.ts';
import type { LogLevel } from '../lib/log.ts';
import type { HostPort } from '../lib/text/host-port.ts';
import type { ConsoleConfig } from './sections/console-config.ts';
import type { HubConfig } from './sections/hub-config.ts';
import type { IdentityConfig } from './sections/identity-config.ts';
import type { IndexConfig } from './sections/index-config.ts';
import type { LimitsConfig } from './sections/limits-config.ts';
import type { TracingConfig } from './sections/tracing-config.ts';

/** Settings about authentication, after they were checked. Paths are absolute. */
export interface AuthenticationFlags {
  /** File with kube-apiserver's AuthenticationConfiguration. */
  readonly configFile: string | undefined;
  /** Undefined when `--anonymous-auth` was not given; then the authentication file decides. */
  readonly anonymousAuth: boolean | undefined;
}

/** The checked configuration of `portcullis serve`. Paths are absolute. */
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
  /** At shutdown: milliseconds during which readyz fails but requests are still accepted. */
  readonly shutdownDelayMs: number;
  /** At shutdown, after new requests are refused: milliseconds that running requests may still take. */
  readonly shutdownGraceMs: number;
  readonly firstByteTimeoutMs: number;
  readonly probeIntervalMs: number;
  /**
   * The factor by which a test has shortened all durations; otherwise 1. The durations in this object have already been
   * multiplied by this factor.
   */
  readonly timeScale: number;
  /** Settings for which user member clusters see for a caller. */
  readonly outgoing: IdentityConfig;
  readonly limits: LimitsConfig;
  /** The audit log; undefined when nothing is audited. */
  readonly audit: AuditConfig | undefined;
  /** The hub; undefined when there is none. */
  readonly hub: HubConfig | undefined;
  /** The index, which lets users search objects of all clusters; undefined or absent when there is none. */
  readonly index?: IndexConfig | undefined;
  /** The console; undefined or absent when it is not served. */
  readonly console?: ConsoleConfig | undefined;
  /** Tracing; undefined or absent when nothing is traced. */
  readonly tracing?: TracingConfig | undefined;
  /** Number of worker processes. Absent or 1: one process does everything. */
  readonly workers?: number;
}
