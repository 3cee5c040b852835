// Makes kubernetes.json.gz from a Kubernetes source tree. The simulator reads this file: resources with verbs and short
// names, schemas with merge keys, default roles, and protobuf fields. Run it by hand when the simulated version
// changes. Easy to get wrong: a schema must be copied with all schemas that it refers to. Otherwise `kubectl explain
// --recursive` fails at a missing schema.
//
// node sim/schema/extract.ts <kubernetes source tree> <folder of k8s.io/api> <folder of k8s.io/apimachinery>
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { readMessages } from './extract-protobuf.ts';
import { refsOf } from './spec.ts';
import type { JsonObject } from '../model/types.ts';
import type { KubernetesSpec, ResourceSpec, Schema } from './spec.ts';

/** The groups and versions that the simulator serves. */
const served: readonly (readonly [group: string, version: string])[] = [
  ['', 'v1'],
  ['apps', 'v1'],
  ['events.k8s.io', 'v1'],
  ['authentication.k8s.io', 'v1'],
  ['authorization.k8s.io', 'v1'],
  ['autoscaling', 'v2'],
  ['autoscaling', 'v1'],
  ['batch', 'v1'],
  ['networking.k8s.io', 'v1'],
  ['policy', 'v1'],
  ['rbac.authorization.k8s.io', 'v1'],
  ['storage.k8s.io', 'v1'],
  ['apiextensions.k8s.io', 'v1'],
  ['scheduling.k8s.io', 'v1'],
  ['coordination.k8s.io', 'v1'],
  ['discovery.k8s.io', 'v1'],
];
/** Resources of these groups that the simulator does not serve. */
const unserved = new Set(['bindings', 'componentstatuses', 'volumeattachments', 'csistoragecapacities']);

/** A resource in an APIResourceList of Kubernetes' recorded discovery (metav1.APIResource). */
interface DiscoveryResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

function readJson(path: string): any {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** The resources of one group and version. Subresources are listed inside their resource. */
function resourcesOf(list: readonly DiscoveryResource[], group: string, version: string): ResourceSpec[] {
  const parents = list.filter((entry) => !entry.name.includes('/') && !unserved.has(entry.name));
  return parents.map((entry) => ({
    group,
    version,
    plural: entry.name,
    singular: entry.singularName,
    kind: entry.kind,
    namespaced: entry.namespaced,
    verbs: entry.verbs,
    shortNames: entry.shortNames ?? [],
    categories: entry.categories ?? [],
    subresources: list
      .filter((sub) => sub.name.startsWith(`${entry.name}/`))
      .map((sub) => ({
        name: sub.name.slice(entry.name.length + 1),
        kind: sub.kind,
        group: sub.group ?? group,
        version: sub.version ?? version,
        verbs: sub.verbs,
      })),
  }));
}

function extract(root: string, api: string, machinery: string): KubernetesSpec {
  const groups = [];
  const schemas: Record<string, Schema> = {};
  for (const [group, version] of served) {
    const file = group === '' ? `api__${version}` : `apis__${group}__${version}`;
    const discovery = readJson(join(root, 'api/discovery', `${file}.json`));
    const resources = resourcesOf(discovery.resources, group, version);
    groups.push({ group, version, resources });
    const all: Record<string, Schema> = readJson(join(root, 'api/openapi-spec/v3', `${file}_openapi.json`)).components
      .schemas;
    const kinds = new Set(resources.flatMap((r) => [r.kind, `${r.kind}List`, ...r.subresources.map((s) => s.kind)]));
    const wanted = new Set(
      Object.keys(all).filter((name) =>
        (all[name]?.['x-kubernetes-group-version-kind'] ?? []).some((gvk) => kinds.has(gvk.kind)),
      ),
    );
    for (const name of wanted) {
      const schema = all[name];
      if (schema === undefined) throw new Error(`schema ${name} is missing`);
      schemas[name] = schema;
      refsOf(schema, wanted);
    }
  }
  const policy = join(root, 'plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata');
  const bootstrap = ['cluster-roles.yaml', 'cluster-role-bindings.yaml'].flatMap(
    (file) => parse(readFileSync(join(policy, file), 'utf8')).items as JsonObject[],
  );
  for (const object of bootstrap) delete object['metadata'].creationTimestamp;
  return {
    source: 'kubernetes api/ and bootstrappolicy/testdata, Apache-2.0',
    groups,
    schemas,
    bootstrap,
    messages: readMessages(protobufFolders(api, machinery)),
  };
}

function protobufFolders(api: string, machinery: string): string[] {
  const groups = served
    .filter(([group]) => group !== 'apiextensions.k8s.io')
    .map(([group, version]) => join(api, group === '' ? 'core' : (group.split('.', 1)[0] ?? ''), version));
  const parts = ['pkg/apis/meta/v1', 'pkg/runtime', 'pkg/api/resource', 'pkg/util/intstr'];
  return [...groups, ...parts.map((part) => join(machinery, part))];
}

const [root, api, machinery] = process.argv.slice(2);
if (root === undefined || api === undefined || machinery === undefined)
  throw new Error('usage: node sim/schema/extract.ts <kubernetes> <api> <apimachinery>');
const spec = extract(root, api, machinery);
const out = join(import.meta.dirname, 'kubernetes.json.gz');
writeFileSync(out, gzipSync(JSON.stringify(spec), { level: 9 }));
process.stdout.write(`${out}: ${spec.groups.length} group-versions, ${Object.keys(spec.schemas).length} schemas\n`);
