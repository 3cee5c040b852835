// `portcullis serve`: reads the configuration, starts the gateway, waits for a signal, shuts down in good order and
// chooses the exit code.
import { createRequire, findPackageJSON } from 'node:module';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../model/errors.ts';
import { readConfig } from '../../config/config.ts';
import type { Config } from '../../config/configuration.ts';
import type { ConfigInput } from '../../config/written.ts';
import type { Gateway } from '../start/gateway.ts';
import { makeLog } from '../../lib/log.ts';
import { timeScaleVariable } from '../../config/time-scale.ts';

/**
 * Runs a gateway until SIGTERM or SIGINT.
 * @returns the exit code: 0 after an orderly shutdown, 2 when the configuration is wrong. In the latter case, standard
 * error says what is wrong
 */
export async function serve(flags: ConfigInput): Promise<number> {
  try {
    const config = readConfig(flags);
    const log = makeLog(config.logLevel);
    if (config.timeScale !== 1)
      log.warn({ scale: config.timeScale }, `${timeScaleVariable} shortens deadlines for a test`);
    // The code is imported only here: with several workers, the first process serves no requests and needs little of
    // it.
    const start =
      config.workers === 1
        ? (await import('../start/gateway.ts')).startGateway
        : (await import('./first-process.ts')).startWorkers;
    const gateway = await start(config, log, portcullisVersion());
    process.stdout.write(banner(config, gateway));
    log.info({ url: gateway.url, ops: gateway.opsUrl }, 'serving');
    void gateway.indexNote?.then((note) => note !== undefined && process.stdout.write(`${note}\n`));
    const signal = await nextSignal();
    log.info({ signal }, 'draining');
    await gateway.drain();
    log.info({}, 'drained');
    return 0;
  } catch (error) {
    // Faults in the token file, the rules file and other files are thrown as these two classes of errors, too.
    if (!(error instanceof ConfigurationError || error instanceof GatewayError)) throw error;
    process.stderr.write(`${error.message.replaceAll(/^/gm, 'portcullis: ')}\n`);
    return 2;
  }
}

/** The version of Portcullis, from its package.json. */
export function portcullisVersion(): string {
  // Finds the nearest package.json above this file, in a checkout as well as in a release with another folder depth.
  const file = findPackageJSON(import.meta.url)!;
  const { version } = createRequire(import.meta.url)(file) as { version: string };
  return version;
}

/** A second SIGTERM or SIGINT within this many milliseconds of the first is ignored; a later one ends the process. */
const sameSignalMs = 1000;

/** Resolves with the first signal that asks the process to end. A later second signal ends the process at once. */
export function nextSignal(): Promise<'SIGTERM' | 'SIGINT'> {
  const { promise, resolve } = Promise.withResolvers<'SIGTERM' | 'SIGINT'>();
  let firstAtMs: number | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      // systemd and Ctrl-C signal the whole process group, and then a parent process such as npm passes the same signal
      // on. So one request to end can arrive here twice.
      if (firstAtMs !== undefined && performance.now() - firstAtMs > sameSignalMs) process.exit(130);
      firstAtMs ??= performance.now();
      resolve(signal);
    });
  return promise;
}

function banner(config: Config, gateway: Gateway): string {
  const trust = gateway.caFile === undefined ? '' : ` --certificate-authority ${gateway.caFile}`;
  const token = gateway.selfToken === undefined ? '--token TOKEN' : `--token "$(cat ${gateway.selfToken.file})"`;
  const hurry =
    config.timeScale === 1
      ? []
      : [`FOR TESTS ONLY: ${timeScaleVariable} makes every deadline ${config.timeScale} times as long.`];
  const lines = [
    `Portcullis serves ${origins(config)} at ${gateway.url} (metrics: ${gateway.opsUrl}/metrics)`,
    ...hurry,
    '',
    'Add a kubectl context for every cluster:',
    `  portcullis kubeconfig --server ${gateway.url}${trust || ' --certificate-authority CA.crt'} ${token} --all --merge ~/.kube/config`,
    '',
  ];
  return `${lines.join('\n')}\n`;
}

function origins({ kubeconfigs, hub }: Config): string {
  const parts: string[] = [];
  if (kubeconfigs.length === 1) parts.push('the clusters of one kubeconfig');
  if (kubeconfigs.length > 1) parts.push(`the clusters of ${kubeconfigs.length} kubeconfigs`);
  if (hub !== undefined) parts.push(`the clusters of the hub (${hub.sources.join(', ')})`);
  return parts.join(' and ');
}
