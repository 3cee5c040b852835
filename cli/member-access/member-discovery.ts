// Finds the resources that a cluster serves, by asking its discovery or from a file with saved discovery. The output of
// `kubectl api-resources` cannot be used: it has no subresources, so read-only access would have no logs.
import { Failure, usageFailure } from '../terminal/failure.ts';
import { getJson } from '../connection/http.ts';
import {
  acceptAggregated,
  aggregatedResources,
  isAggregated,
  listedResources,
  type ServedResource,
} from '../../kube/discovery/documents.ts';
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

/**
 * Asks the cluster which resources it serves.
 * @throws Failure (rejects) when the cluster cannot be reached, refuses, or is older than Kubernetes 1.26
 */
export async function discoverResources(connection: Connection): Promise<readonly MemberResource[]> {
  const documents: JsonObject[] = [];
  for (const path of ['/api', '/apis']) {
    let document: JsonObject;
    try {
      document = await getJson(connection, path, acceptAggregated);
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
    if (!isAggregated(document)) {
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

/** All resources in one discovery document. Resources with names that Kubernetes does not allow are left out. */
function resourcesOf(document: JsonObject): readonly MemberResource[] {
  const resources = isAggregated(document) ? aggregatedResources(document) : resourcesInList(document);
  return resources.map(({ group, resource, verbs }) => ({ group, name: resource, verbs }));
}

function resourcesInList(document: JsonObject): readonly ServedResource[] {
  const [version = '', group = ''] = String(document['groupVersion']).split('/', 2).toReversed();
  return listedResources(document, group, version);
}
