// How objects are written for comparing tables with a real kube-apiserver's. Status is written apart, by a merge patch
// on the subresource, and kube-apiserver refuses states that no controller would write.

/** What is made in the member: an object, and the status it is then given. */
export interface TableObject {
  readonly path: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly status?: object;
}

export const ns = 'tables';
export const time = '2024-05-01T10:00:00Z';
export const later = '2024-05-01T10:01:40Z';

export interface TableOptions {
  readonly status?: object;
  readonly metadata?: object;
}

function make(apiVersion: string, kind: string, resource: string, namespaced: boolean) {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const path = `${root}${namespaced ? `/namespaces/${ns}` : ''}/${resource}`;
  return (name: string, body: object, { status, metadata }: TableOptions = {}): TableObject => ({
    path,
    object: { apiVersion, kind, metadata: { name, ...(namespaced ? { namespace: ns } : {}), ...metadata }, ...body },
    ...(status === undefined ? {} : { status }),
  });
}

export const inNamespace = (apiVersion: string, kind: string, resource: string) =>
  make(apiVersion, kind, resource, true);
export const inCluster = (apiVersion: string, kind: string, resource: string) =>
  make(apiVersion, kind, resource, false);

export const labels = { app: 'web', 'a.b/c': 'd' };
export const expressions = {
  matchLabels: { app: 'web' },
  matchExpressions: [
    { key: 'tier', operator: 'In', values: ['b', 'a'] },
    { key: 'a', operator: 'Exists' },
    { key: 'z', operator: 'DoesNotExist' },
    { key: 'env', operator: 'NotIn', values: ['x'] },
  ],
};
