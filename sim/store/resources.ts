// The registry of the resources that a simulated API server serves: built-in resources and those of
// CustomResourceDefinitions. All versions of a resource have the same storage key, so an object can be read in each
// version.
import type { KubernetesSpec, ResourceSpec, Schema } from '../schema/spec.ts';
import type { PrinterColumn } from '../../tables/printer-column.ts';
import { keyOf } from './store.ts';

/** A resource in one API version that the simulated API server serves, such as pods in v1. */
export interface Resource extends ResourceSpec {
  /**
   * The key of the resource in the store: `group/plural`, and `/events` for Events of both groups. All versions of the
   * resource have the same key.
   */
  readonly key: string;
  /** Name of the kind's schema in {@link Registry.schemas}; undefined when the kind has none. */
  readonly schemaName: string | undefined;
  /** True when the kind has a status subresource, so that other writes do not change `status`. */
  readonly hasStatus: boolean;
  /** For a custom resource, the name of its CustomResourceDefinition. */
  readonly definition?: string;
  /** The `additionalPrinterColumns` of a custom resource; undefined for built-in resources. */
  readonly columns?: readonly PrinterColumn[];
  /**
   * The JSON paths of the scale subresource; undefined for built-in resources, and for custom resources without one.
   */
  readonly scale?: ScalePaths;
  /** The `selectableFields` of a custom resource: paths such as `spec.color`. */
  readonly selectableFields?: readonly string[];
}

/** The JSON paths of a custom resource's scale subresource. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** The resources that a simulated API server serves, and their schemas. */
export interface Registry {
  /** Schemas by name, of built-in kinds and of custom resources. */
  readonly schemas: Readonly<Record<string, Schema>>;
  find(group: string, version: string, plural: string): Resource | undefined;
  findKind(group: string, version: string, kind: string): Resource | undefined;
  /** Finds a resource in its first version, for code that does not care about the version. */
  findPlural(group: string, plural: string): Resource | undefined;
  /** The groups in the order of discovery. Each has at least one version. */
  groups(): readonly GroupVersions[];
  all(): readonly Resource[];
  /** Replaces the resources of one CustomResourceDefinition. An empty list removes them. */
  setCustom(definition: string, resources: readonly Resource[], schemas: Readonly<Record<string, Schema>>): void;
}

/** An API group with its versions, preferred version first. */
export interface GroupVersions {
  readonly group: string;
  readonly versions: readonly { readonly version: string; readonly resources: readonly Resource[] }[];
}

/** Makes a registry with the built-in resources of a specification. */
export function createRegistry(spec: KubernetesSpec): Registry {
  const schemaByKind = new Map<string, string>();
  for (const [name, schema] of Object.entries(spec.schemas)) {
    const gvks = schema['x-kubernetes-group-version-kind'] ?? [];
    if (gvks.length === 1 && gvks[0]) schemaByKind.set(`${gvks[0].group}/${gvks[0].version}/${gvks[0].kind}`, name);
  }
  const builtIn: readonly Resource[] = spec.groups.flatMap(({ resources }) =>
    resources.map((resource) => ({
      ...resource,
      key: resource.kind === 'Event' ? '/events' : keyOf(resource),
      schemaName: schemaByKind.get(`${resource.group}/${resource.version}/${resource.kind}`),
      hasStatus: resource.subresources.some((sub) => sub.name === 'status'),
    })),
  );
  const custom = new Map<string, { resources: readonly Resource[]; schemas: Readonly<Record<string, Schema>> }>();
  let resources = builtIn;
  let schemas = spec.schemas;

  return {
    get schemas() {
      return schemas;
    },
    find: (group, version, plural) =>
      resources.find((r) => r.plural === plural && r.group === group && r.version === version),
    findKind: (group, version, kind) =>
      resources.find((r) => r.kind === kind && r.group === group && r.version === version),
    findPlural: (group, plural) => resources.find((r) => r.plural === plural && r.group === group),
    all: () => resources,
    groups() {
      const byGroup = new Map<string, Map<string, Resource[]>>();
      for (const resource of resources) {
        let versions = byGroup.get(resource.group);
        if (versions === undefined) byGroup.set(resource.group, (versions = new Map()));
        let list = versions.get(resource.version);
        if (list === undefined) versions.set(resource.version, (list = []));
        list.push(resource);
      }
      return [...byGroup].map(([group, versions]) => ({
        group,
        versions: [...versions].map(([version, list]) => ({ version, resources: list })),
      }));
    },
    setCustom(definition, added, addedSchemas) {
      if (added.length === 0) custom.delete(definition);
      else custom.set(definition, { resources: added, schemas: addedSchemas });
      resources = [...builtIn, ...[...custom.values()].flatMap((entry) => entry.resources)];
      schemas = Object.assign({}, spec.schemas, ...[...custom.values()].map((entry) => entry.schemas));
    },
  };
}

/** The apiVersion of a resource: `group/version`, in the core group only the version. */
export function apiVersionOf(resource: { readonly group: string; readonly version: string }): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Splits an apiVersion into group and version. */
export function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}
