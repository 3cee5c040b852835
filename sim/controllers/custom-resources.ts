// Serves custom resources: while a CustomResourceDefinition exists, its resources are in the registry. A resource is
// served as soon as its definition is stored. When a definition is deleted, all objects of its kind are removed before
// the definition is.
import type { Cluster } from '../call/cluster.ts';
import { startDeletion, finishDeletion } from '../api/delete.ts';
import type { Resource } from '../store/resources.ts';
import type { Schema, SubresourceSpec } from '../schema/spec.ts';
import { keyOf } from '../store/store.ts';
import { timestamp, type JsonObject, type KubeObject } from '../model/types.ts';

const key = 'apiextensions.k8s.io/customresourcedefinitions';
const finalizer = 'customresourcecleanup.apiextensions.k8s.io';
const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const objectMeta = '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** From now on, serves the resources of all CustomResourceDefinitions in the store. */
export function followDefinitions(cluster: Cluster): void {
  const { store, timers } = cluster;
  store.subscribe(key, ({ type, object }) => {
    if (type === 'DELETED') {
      cluster.registry.setCustom(object.metadata.name, [], {});
      return;
    }
    register(cluster, object);
    const isNew = object['status']?.storedVersions === undefined;
    if (isNew) timers.after(0, () => establish(cluster, object));
    if (object.metadata.deletionTimestamp !== undefined) timers.after(0, () => cleanUp(cluster, object));
  });
}

function register(cluster: Cluster, definition: KubeObject): void {
  const { group, names, scope, versions } = definition['spec'];
  const resources: Resource[] = [];
  const schemas: Record<string, Schema> = {};
  for (const version of versions as JsonObject[]) {
    if (version['served'] !== true) continue;
    const schemaName = `${String(group).split('.').toReversed().join('.')}.${version['name']}.${names.kind}`;
    schemas[schemaName] = rootSchema(version['schema']?.openAPIV3Schema ?? {}, {
      group,
      version: version['name'],
      kind: names.kind,
    });
    const subresources = subresourcesOf(version, { group, kind: names.kind });
    resources.push({
      group,
      version: version['name'],
      plural: names.plural,
      singular: names.singular ?? String(names.kind).toLowerCase(),
      kind: names.kind,
      namespaced: scope === 'Namespaced',
      verbs,
      shortNames: names.shortNames ?? [],
      categories: names.categories ?? [],
      subresources,
      key: keyOf({ group, plural: names.plural }),
      schemaName,
      hasStatus: subresources.some((sub) => sub.name === 'status'),
      definition: definition.metadata.name,
      columns: version['additionalPrinterColumns'] ?? [],
      selectableFields: ((version['selectableFields'] ?? []) as JsonObject[]).map((field) =>
        String(field['jsonPath']).replace(/^\./, ''),
      ),
      ...(version['subresources']?.scale === undefined ? {} : { scale: version['subresources'].scale }),
    });
  }
  cluster.registry.setCustom(definition.metadata.name, resources, schemas);
}

function subresourcesOf(version: JsonObject, { group, kind }: { group: string; kind: string }): SubresourceSpec[] {
  const own = { verbs: ['get', 'patch', 'update'] };
  const { status, scale } = version['subresources'] ?? {};
  return [
    ...(status === undefined ? [] : [{ ...own, name: 'status', kind, group, version: version['name'] }]),
    ...(scale === undefined ? [] : [{ ...own, name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1' }]),
  ];
}

function rootSchema(schema: JsonObject, gvk: { group: string; version: string; kind: string }): Schema {
  const text = (description: string): Schema => ({ type: 'string', description });
  return {
    ...schema,
    type: 'object',
    properties: {
      ...schema['properties'],
      apiVersion: text('APIVersion defines the versioned schema of this representation of an object.'),
      kind: text('Kind is a string value representing the REST resource this object represents.'),
      metadata: { description: "Standard object's metadata.", allOf: [{ $ref: objectMeta }] },
    },
    ...(schema['properties'] === undefined ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    'x-kubernetes-group-version-kind': [gvk],
  };
}

function establish(cluster: Cluster, definition: KubeObject): void {
  const current = cluster.store.get(key, '', definition.metadata.name);
  if (current === undefined || current.metadata.uid !== definition.metadata.uid) return;
  const at = timestamp(cluster.now());
  const { names, versions } = current['spec'];
  const storage = (versions as JsonObject[]).find((version) => version['storage'] === true)?.['name'];
  const common = { status: 'True', lastTransitionTime: at };
  const accepted = { type: 'NamesAccepted', reason: 'NoConflicts', message: 'no conflicts found' };
  const message = 'the initial names have been accepted';
  const established = { type: 'Established', reason: 'InitialNamesAccepted', message };
  const conditions = [accepted, established].map((condition) => ({ ...common, ...condition }));
  const finalizers = [...new Set([...(current.metadata.finalizers ?? []), finalizer])];
  cluster.store.replace(key, {
    ...current,
    metadata: { ...current.metadata, finalizers },
    status: { acceptedNames: names, conditions, storedVersions: [storage] },
  });
}

/** Deletes the objects of a CustomResourceDefinition that is being deleted, and then removes its finalizer. */
function cleanUp(cluster: Cluster, definition: KubeObject): void {
  const current = cluster.store.get(key, '', definition.metadata.name);
  const own = cluster.registry.findPlural('apiextensions.k8s.io', 'customresourcedefinitions');
  if (current?.metadata.finalizers?.includes(finalizer) !== true || own === undefined) return;
  const resource = cluster.registry.all().find((entry) => entry.definition === definition.metadata.name);
  let left = 0;
  if (resource !== undefined)
    for (const object of cluster.store.list(resource.key))
      if (!startDeletion(cluster, resource, object).isGone) left += 1;
  if (left > 0) {
    cluster.timers.after(50, () => cleanUp(cluster, definition));
    return;
  }
  const finalizers = current.metadata.finalizers.filter((name) => name !== finalizer);
  const metadata = { ...current.metadata, finalizers };
  if (finalizers.length === 0) delete (metadata as Partial<typeof metadata>).finalizers;
  finishDeletion(cluster, own, cluster.store.replace(key, { ...current, metadata }));
}
