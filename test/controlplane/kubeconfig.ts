// Kubeconfig files for the members. The context's name is the cluster's name everywhere, because Portcullis names
// clusters after contexts and tests look them up by member name.
import { writeFile } from 'node:fs/promises';

import { stringify } from 'yaml';

import type { KeyPair } from '../pretend/certificates.ts';

/** One cluster as one user; a credential is a bearer token or a client certificate. */
export interface KubeconfigEntry {
  readonly name: string;
  readonly server: string;
  readonly caPem: string;
  readonly user: string;
  readonly credential: { readonly token: string } | KeyPair;
}

/** Text of a kubeconfig with one context an entry; the first is current. */
export function kubeconfigText(entries: readonly KubeconfigEntry[]): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': entries[0]?.name ?? '',
    clusters: entries.map((entry) => ({
      name: entry.name,
      cluster: { server: entry.server, 'certificate-authority-data': base64(entry.caPem) },
    })),
    users: entries.map((entry) => ({ name: `${entry.user}@${entry.name}`, user: userFields(entry.credential) })),
    contexts: entries.map((entry) => ({
      name: entry.name,
      context: { cluster: entry.name, user: `${entry.user}@${entry.name}` },
    })),
  });
}

function userFields(credential: KubeconfigEntry['credential']): Record<string, string> {
  if ('token' in credential) return { token: credential.token };
  return {
    'client-certificate-data': base64(credential.certPem),
    'client-key-data': base64(credential.keyPem),
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Writes a kubeconfig readable by its owner only and returns the file's name. */
export async function writeKubeconfig(file: string, entries: readonly KubeconfigEntry[]): Promise<string> {
  await writeFile(file, kubeconfigText(entries), { mode: 0o600 });
  return file;
}
