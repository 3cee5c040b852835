// The section of the configuration about the process itself: data directory, log level, shutdown and timeouts.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { firstByteTimeoutMs } from '../lib/limits.ts';
import type { LogLevel } from '../lib/log.ts';
import type { Config } from './configuration.ts';
import { oneOf, path, seconds } from './settings/kinds.ts';
import { readSettings } from './settings/settings.ts';
import type { Settings, Written } from './settings/settings.ts';

type ProcessConfig = Pick<
  Config,
  'dataDir' | 'logLevel' | 'shutdownDelayMs' | 'shutdownGraceMs' | 'firstByteTimeoutMs' | 'probeIntervalMs'
>;

/** The settings of the process. */
export const processSettings = {
  dataDir: {
    kind: path,
    placeholder: '<dir>',
    otherwise: '`$XDG_STATE_HOME/portcullis`',
    text: "keeps the gateway's CA (`ca.crt`, `ca.key`), the index, and the token of a gateway for one user",
  },
  logLevel: {
    kind: oneOf<LogLevel>('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    default: 'info',
    hasNoFlag: true,
    text: '`trace`, `debug`, `info`, `warn`, `error` or `silent`; JSON lines on standard error',
  },
  shutdownDelaySeconds: {
    kind: seconds(),
    default: 1,
    hasNoFlag: true,
    text: 'how long `/readyz` fails while requests are still taken',
  },
  shutdownGraceSeconds: {
    kind: seconds(),
    default: 10,
    hasNoFlag: true,
    text: 'how long requests under way may take after that',
  },
  firstByteTimeoutSeconds: {
    kind: seconds(),
    default: firstByteTimeoutMs / 1000,
    hasNoFlag: true,
    text: 'longest wait for the first byte of a short request (never for watch, log, proxy, upgrades)',
  },
  probeIntervalSeconds: {
    kind: seconds({ least: 0.1 }),
    default: 10,
    hasNoFlag: true,
    text: 'time between two probes of a cluster, ± 20 %; longer where all clusters together would be asked more than 100 times a second (20 s with 2,000). Version and our own rights are asked once a minute, or every six intervals where these are longer',
  },
} satisfies Settings;

/** Returns the settings about the process, with defaults for those that were not given. */
export function readProcess(written: Written, environment: NodeJS.ProcessEnv): ProcessConfig {
  const given = readSettings(processSettings, written);
  return {
    dataDir: given.dataDir ?? defaultDataDir(environment),
    logLevel: given.logLevel,
    shutdownDelayMs: given.shutdownDelaySeconds,
    shutdownGraceMs: given.shutdownGraceSeconds,
    firstByteTimeoutMs: given.firstByteTimeoutSeconds,
    probeIntervalMs: given.probeIntervalSeconds,
  };
}

/**
 * The data directory when the operator names none: `$XDG_STATE_HOME/portcullis`, or `~/.local/state/portcullis` when
 * that variable is not set (XDG base directory specification).
 */
export function defaultDataDir(environment: NodeJS.ProcessEnv): string {
  const state = environment['XDG_STATE_HOME'];
  return join(state === undefined || !state.startsWith('/') ? join(homedir(), '.local', 'state') : state, 'portcullis');
}
