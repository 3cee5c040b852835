// The section of the configuration about the process itself: data directory, log level, shutdown and timeouts.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { firstByteTimeoutMs } from '../lib/limits.ts';
import type { Config } from './configuration.ts';
import { writtenPath } from './written.ts';
import type { Written } from './written.ts';

type ProcessConfig = Pick<
  Config,
  'dataDir' | 'logLevel' | 'shutdownDelayMs' | 'shutdownGraceMs' | 'firstByteTimeoutMs' | 'probeIntervalMs'
>;

/** Returns the settings about the process, with defaults for those that were not given. */
export function readProcess(written: Written, environment: NodeJS.ProcessEnv): ProcessConfig {
  const { file } = written;
  return {
    dataDir: writtenPath(written, 'dataDir') ?? defaultDataDir(environment),
    logLevel: file.logLevel ?? 'info',
    shutdownDelayMs: (file.shutdownDelaySeconds ?? 1) * 1000,
    shutdownGraceMs: (file.shutdownGraceSeconds ?? 10) * 1000,
    firstByteTimeoutMs:
      file.firstByteTimeoutSeconds === undefined ? firstByteTimeoutMs : file.firstByteTimeoutSeconds * 1000,
    probeIntervalMs: (file.probeIntervalSeconds ?? 10) * 1000,
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
