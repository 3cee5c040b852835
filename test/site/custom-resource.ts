// CustomResourceDefinitions, as tests make them in hubs and members.

export interface CustomResourceOptions {
  /** Default `Namespaced`. */
  readonly scope?: 'Cluster' | 'Namespaced';
  /** Default `v1`. */
  readonly versions?: readonly string[];
  /** Default all of them. */
  readonly served?: readonly string[];
  /** The version that is stored; default the first. */
  readonly stored?: string;
  /** Of every version; default one that lets objects hold anything. */
  readonly schema?: object;
  /** Further fields of every version: columns, subresources. */
  readonly version?: object;
  /** Further names: short ones, categories. */
  readonly names?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

export type CustomResourceDefinition = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: object;
};

/** Of a JSON object that may hold anything. */
export const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

/** A CustomResourceDefinition. @param name `plural.group` */
export function customResource(
  name: string,
  kind: string,
  {
    scope = 'Namespaced',
    versions = ['v1'],
    served = versions,
    stored = versions[0],
    ...more
  }: CustomResourceOptions = {},
): CustomResourceDefinition {
  const [plural = '', ...group] = name.split('.');
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, ...(more.annotations && { annotations: more.annotations }) },
    spec: {
      group: group.join('.'),
      scope,
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List`, ...more.names },
      versions: versions.map((version) => ({
        name: version,
        served: served.includes(version),
        storage: version === stored,
        schema: { openAPIV3Schema: more.schema ?? anything },
        ...more.version,
      })),
    },
  };
}
