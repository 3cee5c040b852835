// Refuses settings that are each valid but must not be used together, most of them because one user could be taken for
// another. They are refused before any socket is opened.
import { isLoopback } from '../lib/text/host-port.ts';
import type { Config } from './configuration.ts';
import { refuseWithWorkers } from './workers-config.ts';
import type { Written } from './settings/settings.ts';

/** All sections of the configuration, after each was checked by itself. */
export type ReadSections = Omit<Config, 'timeScale'> & { readonly workers: number };

/** Calls `written.fault` for every combination of settings that is not allowed. */
export function refuseCombinations(config: ReadSections, written: Written): void {
  refuseWithoutClusters(config, written);
  if (config.tls !== undefined && config.hub?.serving !== undefined)
    written.fault('--serving-secret', 'cannot be used with --tls-cert-file: give only one source of the certificate');
  if (config.identity === 'self') refuseWithSelf(config, written);
  else refuseWithoutLogin(config, written);
  refuseWithWorkers(config, config.workers, written.fault);
}

function refuseWithoutClusters({ kubeconfigs, hub }: ReadSections, { fault }: Written): void {
  if (kubeconfigs.length === 0 && hub === undefined)
    fault(
      '--kubeconfig',
      'no clusters: give at least one kubeconfig, for example --kubeconfig ~/.kube/config, or a hub with --hub-kubeconfig FILE',
    );
  if (kubeconfigs.length > 0 && hub?.sources.includes('kubeconfig') === false)
    fault('--kubeconfig', 'would be ignored: --sources does not name "kubeconfig"');
}

function refuseWithSelf({ listen, tokenAuthFile, clientCaFile }: ReadSections, { flags, fault }: Written): void {
  if (!isLoopback(listen.host)) {
    fault(
      '--identity',
      '--identity=self lends the rights of your kubeconfig to whoever has the token: it is served on a loopback address only; use --listen 127.0.0.1:8443',
    );
  }
  const given = {
    '--token-auth-file': tokenAuthFile,
    '--client-ca-file': clientCaFile,
    '--hub-kubeconfig': flags['hubKubeconfig'] || undefined,
  };
  for (const [flag, value] of Object.entries(given)) {
    if (value !== undefined)
      fault(flag, 'cannot be used with --identity=self, which has one generated token and no other users');
  }
}

function refuseWithoutLogin(config: ReadSections, { fault }: Written): void {
  const { tokenAuthFile, clientCaFile, authentication, hub } = config;
  if (hub !== undefined || [tokenAuthFile, clientCaFile, authentication.configFile].some((file) => file !== undefined))
    return;
  fault(
    '--token-auth-file',
    'nobody could log in: give --token-auth-file, --client-ca-file, --authentication-config or --hub-kubeconfig, or --identity self to use the gateway just for yourself',
  );
}
