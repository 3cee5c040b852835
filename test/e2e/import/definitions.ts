// CustomResourceDefinitions of programs that leave clusters on a hub, each with whatever fields.

/** @param name `plural.group` */
export function openDefinition(
  name: string,
  kind: string,
  scope: 'Cluster' | 'Namespaced',
  ...versions: readonly string[]
): object {
  const [plural = '', ...group] = name.split('.');
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group: group.join('.'),
      scope,
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: versions.map((version, index) => ({
        name: version,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
      })),
    },
  };
}
