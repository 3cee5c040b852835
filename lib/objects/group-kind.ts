// Formats the kind of an object with its API group.

/** A kind with its API group, as `Deployment.apps` or `Secret`: the form of Kubernetes' GroupKind. */
export function groupKindOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? kind : `${kind}.${apiVersion.slice(0, slash)}`;
}
