// Which resources this server has: the built-in ones of the specification, and those of CustomResourceDefinitions
// while they exist. Several versions of a group share one storage key, so an object is found under each.
import type { KubernetesSpec, ResourceSpec, Schema } from '../schema/spec.ts';
import type { PrinterColumn } from '../../tables/printer-column.ts';
import { keyOf } from './store.ts';
import type { KubeObject } from '../types.ts';

/** A resource this server serves. */
export interface Resource extends ResourceSpec {
  /** Storage key, shared by the versions of one resource. */
  readonly key: string;
  /** Name of the kind's schema among {@link Registry.schemas}; undefined for a custom resource without one. */
  readonly schemaName: string | undefined;
  /** Whether writes to the main resource leave `status` alone. */
  readonly hasStatus: boolean;
  /** Set for custom resources: the name of their definition. */
  readonly definition?: string;
  /** `additionalPrinterColumns` of a custom resource. */
  readonly columns?: readonly PrinterColumn[];
  /** Where a custom resource keeps its scale. */
  readonly scale?: ScalePaths;
  /** JSON paths of the `selectableFields` of a custom resource. */
  readonly selectableFields?: readonly string[];
}

/** JSON paths of a custom resource's scale subresource. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** Resources by path and by kind. */
export interface Registry {
  /** Schemas by name: the specification's and those of custom resources. */
  readonly schemas: Readonly<Record<string, Schema>>;
  find(group: string, version: string, plural: string): Resource | undefined;
  findKind(group: string, version: string, kind: string): Resource | undefined;
  /** Any version of a group and plural (used where only those are known, e.g. by deletion of a namespace). */
  findPlural(group: string, plural: string): Resource | undefined;
  /** In serving order; an empty version list does not occur. */
  groups(): readonly GroupVersions[];
  all(): readonly Resource[];
  /** Replaces the resources of one definition; none removes them. */
  setCustom(definition: string, resources: readonly Resource[], schemas: Readonly<Record<string, Schema>>): void;
}

/** A group, its versions in order of preference. */
export interface GroupVersions {
  readonly group: string;
  readonly versions: readonly { readonly version: string; readonly resources: readonly Resource[] }[];
}

/** The registry of a specification. */
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

/** `v1` or `group/v1`. */
export function apiVersionOf(resource: { readonly group: string; readonly version: string }): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Splits `group/version`. */
export function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** Field selectors of a custom resource: its definition's `selectableFields`. */
export function fieldGettersOf(resource: Resource): Record<string, (object: KubeObject) => string> {
  return Object.fromEntries(
    (resource.selectableFields ?? []).map((path) => {
      const steps = path.replace(/^\./, '').split('.');
      return [
        steps.join('.'),
        (object: KubeObject) => {
          const value: unknown = steps.reduce((at: any, step) => at?.[step], object);
          return value === undefined || value === null ? '' : String(value);
        },
      ];
    }),
  );
}
