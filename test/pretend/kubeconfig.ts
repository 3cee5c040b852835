// Kubeconfigs for tests.

/**
 * A kubeconfig with one context, which is the current one.
 * @param cluster fields of the cluster; `caPem` is written as certificate-authority-data
 * @param name of the context, the cluster and the user
 */
export function kubeconfigOf(
  { caPem, ...cluster }: { readonly server: string; readonly caPem?: string; readonly [field: string]: unknown },
  user: object = {},
  name = 'c',
): object {
  const ca = caPem === undefined ? {} : { 'certificate-authority-data': Buffer.from(caPem).toString('base64') };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { ...cluster, ...ca } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
}
