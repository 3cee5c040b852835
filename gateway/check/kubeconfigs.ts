// Checks kubeconfig files: lists the files that hold their secrets, and finds weaknesses in the context for a hub or a
// webhook. What is weak in a context is decided in clusters.ts.
import { readFileSync } from 'node:fs';
import { unusable } from '../../cache/sources/unusable.ts';
import { draftClusters } from '../../cache/sources/kubeconfig/kubeconfig-cluster.ts';
import { parseKubeconfig } from '../../cache/sources/kubeconfig/kubeconfig-file.ts';
import { besideKubeconfig } from '../../cache/sources/kubeconfig/kubeconfig-user.ts';
import { credentialKindWeaknesses, credentialWeaknesses, reachWeaknesses } from './clusters.ts';
import type { WatchedFile } from './files.ts';
import type { Weakness } from './weakness.ts';

/**
 * Files with secrets: the kubeconfig itself, and the key and token files it refers to.
 * @throws ConfigurationError when the kubeconfig cannot be parsed; a system error when it cannot be read
 */
export function secretFilesOf(file: string): readonly WatchedFile[] {
  const { users } = parseKubeconfig(file, readFileSync(file, 'utf8'));
  const found: WatchedFile[] = [{ file, holds: 'secret', kind: 'kubeconfig' }];
  for (const { keyFile, keyData, tokenFile } of users.values()) {
    if (keyFile !== '' && keyData === '')
      found.push({ file: besideKubeconfig(file, keyFile), holds: 'secret', kind: 'private key' });
    if (tokenFile !== '') found.push({ file: besideKubeconfig(file, tokenFile), holds: 'secret', kind: 'token' });
  }
  return found;
}

/**
 * Finds weaknesses in the current context of a kubeconfig.
 * @param what name for people, such as `hub`
 * @throws the same errors as {@link secretFilesOf}
 */
export function currentContextWeaknesses(file: string, what: string, nowMs: number): readonly Weakness[] {
  const kubeconfig = parseKubeconfig(file, readFileSync(file, 'utf8'));
  const contexts = kubeconfig.contexts.filter(({ name }) => name === kubeconfig.currentContext);
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      throw unusable(`${path}: ${(error as NodeJS.ErrnoException).code ?? 'cannot be read'}`);
    }
  };
  return draftClusters(file, { ...kubeconfig, contexts }, read).flatMap(({ spec, plan }) => {
    const where = `${what} (${file}, context "${spec.originalName}")`;
    const { kind, authorization, clientCertificate, expiresAtMs } = plan;
    return [
      ...reachWeaknesses(spec, where, nowMs),
      ...credentialKindWeaknesses(kind, where),
      ...credentialWeaknesses(kind, { authorization, clientCertificate, expiresAtMs }, where, nowMs),
    ];
  });
}
