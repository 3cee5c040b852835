// Kubeconfigs as a test wants them, right or wrong, and changed while a gateway reads them. A change must replace the
// whole file at once (rename), or the gateway may read half of it and the test measures something else.
import { renameSync, writeFileSync } from 'node:fs';

import { stringify } from 'yaml';

/** One context with fields as a kubeconfig writes them; cluster, user and context have one name. */
export interface TestContext {
  readonly name: string;
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly user: Readonly<Record<string, unknown>>;
  /** Labels of the cluster in the gateway. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Replaces the file in one step. */
export function writeContexts(file: string, contexts: readonly TestContext[]): string {
  const extensions = (labels: TestContext['labels']): object =>
    labels === undefined ? {} : { extensions: [{ name: 'gateway.portcullis.io/labels', extension: labels }] };
  replaceFile(
    file,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: contexts.map(({ name, cluster }) => ({ name, cluster })),
      users: contexts.map(({ name, user }) => ({ name, user })),
      contexts: contexts.map(({ name, labels }) => ({
        name,
        context: { cluster: name, user: name, ...extensions(labels) },
      })),
    }),
  );
  return file;
}

/** Writes beside the file and renames, as kubectl and credential agents do. */
export function replaceFile(file: string, text: string): string {
  writeFileSync(`${file}.next`, text, { mode: 0o600 });
  renameSync(`${file}.next`, file);
  return file;
}

/** `cluster` of a context: address and trusted authority. */
export function clusterAt(server: string, caPem: string, more: Readonly<Record<string, unknown>> = {}): object {
  return { server, 'certificate-authority-data': Buffer.from(caPem).toString('base64'), ...more };
}
