// Finds the resources that a cluster serves, by asking its discovery or from a file with saved discovery. The output of
// `kubectl api-resources` cannot be used: it has no subresources, so read-only access would have no logs.
import { Failure, usageFailure } from '../terminal/failure.ts';
import { getJson } from '../connection/http.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { readText } from '../files/kubeconfig-file.ts';
import { YamlFault } from '../../lib/yaml/go-yaml.ts';
import { readManifestDocuments } from '../../lib/yaml/manifest-documents.ts';

/** One resource or subresource in one version. */
export interface MemberResource {
  /** API group; '' is the core group. */
  readonly group: string;
  /** Plural name of a resource, with a subresource after a slash: `pods` or `pods/log`. */
  readonly name: string;
  readonly verbs: readonly string[];
}

/** Accept header for aggregated discovery (KEP-3352), which describes all API groups in one answer. */
const acceptDiscovery = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(',');

/**
 * Asks the cluster which resources it serves.
 * @throws Failure (rejects) when the cluster cannot be reached, refuses, or is older than Kubernetes 1.26
 */
export async function discoverResources(connection: Connection): Promise<readonly MemberResource[]> {
  const documents: JsonObject[] = [];
  for (const path of ['/api', '/apis']) {
    let document: JsonObject;
    try {
      document = await getJson(connection, path, acceptDiscovery);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw new Failure(
        error.message,
        'Check --kubeconfig and --context, or save the discovery there and give --discovery FILE.',
        {
          cause: error,
        },
      );
    }
    if (document['kind'] !== 'APIGroupDiscoveryList') {
      throw new Failure(
        `${connection.root} does not answer with aggregated discovery`,
        'It is older than Kubernetes 1.26; save its discovery and give --discovery FILE.',
      );
    }
    documents.push(document);
  }
  return documents.flatMap(resourcesOf);
}

/**
 * Reads a file with saved answers of discovery: objects of kind APIGroupDiscoveryList or APIResourceList, as JSON or
 * YAML, separated by `---`.
 * @throws Failure (usage) when the file cannot be read or names no resources
 */
export function readDiscovery(file: string): readonly MemberResource[] {
  const text = readText(file, false, ' (--discovery)') ?? '';
  const next =
    'Save it with: kubectl get --raw /api/v1 > FILE; then, for every /apis/GROUP/VERSION, "---" and that one too.';
  const resources: MemberResource[] = [];
  for (const value of valuesIn(text, `${file} (--discovery)`, next)) {
    if (value === null) continue;
    if (!isJsonObject(value) || !['APIGroupDiscoveryList', 'APIResourceList'].includes(String(value['kind']))) {
      throw usageFailure(`${file} (--discovery) holds something that is no discovery document`, next);
    }
    resources.push(...resourcesOf(value));
  }
  if (resources.length === 0) throw usageFailure(`${file} (--discovery) names no resources`, next);
  return resources;
}

function valuesIn(text: string, file: string, next: string): readonly unknown[] {
  try {
    return [...readManifestDocuments(Buffer.from(text))].map(({ value }) => value);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw usageFailure(`${file} is neither JSON nor YAML, line ${error.line}: ${error.message}`, next);
  }
}

/**
 * All resources in one discovery document. Entries of an unexpected form are left out, since a guess could grant a
 * right that nobody wanted.
 */
function resourcesOf(document: JsonObject): readonly MemberResource[] {
  if (document['kind'] === 'APIResourceList') {
    const groupVersion = textOf(document['groupVersion']);
    const group = groupVersion.includes('/') ? groupVersion.slice(0, groupVersion.indexOf('/')) : '';
    return objectsOf(document['resources']).map((one) => ({
      group,
      name: textOf(one['name']),
      verbs: textsOf(one['verbs']),
    }));
  }
  return objectsOf(document['items']).flatMap((item) => {
    const metadata = item['metadata'];
    const group = isJsonObject(metadata) ? textOf(metadata['name']) : '';
    return objectsOf(item['versions'])
      .flatMap((version) => objectsOf(version['resources']))
      .flatMap((resource) => {
        const name = textOf(resource['resource']);
        return [
          { group, name, verbs: textsOf(resource['verbs']) },
          ...objectsOf(resource['subresources']).map((one) => ({
            group,
            name: `${name}/${textOf(one['subresource'])}`,
            verbs: textsOf(one['verbs']),
          })),
        ];
      });
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
