// The bundle of a ClusterJoin: manifests in a ConfigMap of the hub, which the bootstrap credential applies in the
// member. An example is an agent with its own bootstrap kubeconfig. The gateway's ServiceAccount gets no rights to
// these objects, so they stay when the member leaves.
import { fieldOf, isJsonObject, textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ServedKind } from '../../kube/discovery/documents.ts';
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import type { MemberObjects, ObjectName } from '../../distribute/member/member-objects.ts';
import { inApplyOrder } from '../../distribute/work/apply-order.ts';
import { YamlFault } from '../../lib/yaml/go-yaml.ts';
import { objectsIn } from '../../lib/yaml/manifest-objects.ts';
import { fieldManager } from './install.ts';

const mostManifests = 500;

/**
 * Reads the manifests of all keys of a ConfigMap, in the order in which they are applied.
 * @throws GatewayError CLUSTER_UNUSABLE when the text of a key is not YAML, or holds something other than objects with
 * kind and name
 */
export function manifestsIn(bundle: unknown): readonly JsonObject[] {
  const data = fieldOf(bundle, 'data');
  const found = Object.entries(isJsonObject(data) ? data : {}).flatMap(([key, text]) =>
    documentsIn(key, typeof text === 'string' ? text : ''),
  );
  if (found.length > mostManifests) throw unusable(`the bundle has more than ${mostManifests} manifests`);
  return inApplyOrder(found.map((manifest) => ({ manifest, meta: { kind: textAt(manifest, 'kind') } })))
    .flat()
    .map(({ manifest }) => manifest);
}

function documentsIn(key: string, text: string): readonly JsonObject[] {
  try {
    return [...objectsIn(Buffer.from(text))].map(({ object, line }) => {
      if (textAt(object, 'metadata', 'name') === '')
        throw new YamlFault(
          'metadata.name is missing, or is no text; YAML reads n and y as false and true, so write them in quotes',
          { line, column: 1 },
        );
      return object;
    });
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw unusable(`data["${key}"] of the bundle, line ${error.line}: ${error.message}`);
  }
}

function unusable(message: string): GatewayError {
  return new GatewayError('CLUSTER_UNUSABLE', message);
}

/**
 * Returns kind, namespace and name of the objects in the manifests. Manifests of kinds that the member does not serve,
 * perhaps not yet, are left out.
 * @throws GatewayError, MemberRefusal when the discovery of the member cannot be read
 */
export async function servedNames(kinds: RestMapper, manifests: readonly JsonObject[]): Promise<readonly ObjectName[]> {
  const named = await Promise.all(manifests.map(async (each) => nameOf(await kindOf(kinds, each), each)));
  return named.filter((each) => each !== undefined);
}

/**
 * Applies the manifests one after the other by server-side apply.
 * @throws MemberRefusal when the member refuses a manifest; GatewayError when the member does not serve a kind or does
 * not answer
 */
export async function applyBundle(
  objects: MemberObjects,
  kinds: RestMapper,
  manifests: readonly JsonObject[],
): Promise<void> {
  for (const manifest of manifests) {
    const name = nameOf(await kindOf(kinds, manifest), manifest);
    if (name === undefined)
      throw unusable(`the cluster does not serve ${textAt(manifest, 'kind')} of ${textAt(manifest, 'apiVersion')}`);
    await objects.patch(name, { type: 'apply', fieldManager, force: true, body: manifest });
  }
}

function kindOf(kinds: RestMapper, manifest: JsonObject): Promise<ServedKind | undefined> {
  const parts = textAt(manifest, 'apiVersion').split('/');
  const [group, version] = parts.length === 2 ? (parts as [string, string]) : (['', parts[0]!] as const);
  return kinds.find(group, version, textAt(manifest, 'kind'));
}

function nameOf(kind: ServedKind | undefined, manifest: JsonObject): ObjectName | undefined {
  if (kind === undefined) return undefined;
  const namespace = kind.namespaced ? textAt(manifest, 'metadata', 'namespace') || 'default' : '';
  return { kind, namespace, name: textAt(manifest, 'metadata', 'name') };
}
