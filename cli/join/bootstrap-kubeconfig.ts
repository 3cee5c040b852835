// Makes a kubeconfig with one context that refers to no other file, so that it can be stored in a Secret of the hub.
// Exec plugins (programs that get a credential) are not supported, since they would have to run in the gateway.
import { dirname, resolve } from 'node:path';
import { usageFailure } from '../terminal/failure.ts';
import {
  dataOrFile,
  loadKubeconfig,
  readText,
  refuseImpersonation,
  resolveContext,
  textOf,
  type KubeconfigEntry,
} from '../files/kubeconfig-file.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { writeYaml } from '../../lib/yaml/go-yaml.ts';

/**
 * Returns the kubeconfig as YAML.
 * @param file path of the kubeconfig to read
 * @param context name of the context in the file; undefined for its current context
 * @throws Failure (usage) when the file or the context cannot be used
 */
export function bootstrapKubeconfig(
  file: string,
  context: string | undefined,
  terminal: Pick<Terminal, 'env' | 'homeDir'>,
): string {
  const { name, cluster, user } = resolveContext(loadKubeconfig(file, terminal), context, true);
  const ca = dataOrFile(cluster, 'certificate-authority');
  const kept = ['server', 'tls-server-name', 'proxy-url', 'insecure-skip-tls-verify'].flatMap((key) =>
    cluster.value[key] === undefined ? [] : [[key, cluster.value[key]] as const],
  );
  return writeYaml({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster: { ...Object.fromEntries(kept), ...encoded('certificate-authority-data', ca) } }],
    users: [{ name, user: credentialOf(user, name) }],
  });
}

function credentialOf(user: KubeconfigEntry | undefined, context: string): object {
  if (user !== undefined)
    refuseImpersonation(
      user,
      context,
      'Choose a context without these fields, or make a token of the one to act as, and put it into a kubeconfig.',
    );
  const tokenFile = user && textOf(user.value, 'tokenFile');
  const token =
    user === undefined || tokenFile === undefined
      ? user && textOf(user.value, 'token')
      : readText(resolve(dirname(user.file), tokenFile), false, ` (tokenFile in ${user.file})`)?.trim();
  if (token !== undefined) return { token };
  const cert = user && dataOrFile(user, 'client-certificate');
  const key = user && dataOrFile(user, 'client-key');
  if (cert !== undefined && key !== undefined)
    return { ...encoded('client-certificate-data', cert), ...encoded('client-key-data', key) };
  throw usageFailure(
    `the user of context "${context}" has no token and no client certificate`,
    'Make a token that lives for some minutes, for example with kubectl create token, and put it into a kubeconfig.',
  );
}

function encoded(key: string, text: string | undefined): Readonly<Record<string, string>> {
  return text === undefined ? {} : { [key]: Buffer.from(text).toString('base64') };
}
