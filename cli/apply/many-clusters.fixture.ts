// For tests: clusters behind the stub gateway, with ConfigMaps and Secrets in memory, and fields by which a test causes
// faults.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StubGateway } from '../stub-gateway.fixture.ts';
import { sendJson, sendStatus } from '../../test/pretend/server.ts';

interface StoredObject {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> } & object;
}

/** Simulated clusters behind a stub gateway. */
export interface ManyClusters {
  /** Stored objects; the key is cluster name and path, separated by a space. */
  readonly objects: Map<string, StoredObject>;
  /** All requests so far, each as `cluster METHOD path`. */
  readonly requests: string[];
  /**
   * A number that is part of the UIDs of all clusters. A test changes it to say that the same names now belong to other
   * clusters.
   */
  life: number;
  /** Called for every request. When it returns true, it has answered the request in place of the cluster. */
  intercept: (cluster: string, request: IncomingMessage, response: ServerResponse) => boolean;
}

const verbs = ['get', 'list', 'patch', 'delete', 'create', 'watch'];
const served = [
  ['configmaps', 'ConfigMap'],
  ['secrets', 'Secret'],
].map(([resource, kind]) => ({
  resource,
  responseKind: { group: '', version: 'v1', kind },
  scope: 'Namespaced',
  verbs,
}));

/** Makes a stub gateway serve clusters with these names. */
export function serveClusters(stub: StubGateway, names: readonly string[]): ManyClusters {
  const clusters: ManyClusters = { objects: new Map(), requests: [], life: 1, intercept: () => false };
  stub.answers.override = (request, response) => {
    const [, cluster, path] = /^\/clusters\/([^/]+)\/proxy(\/[^?]*)/.exec(request.url ?? '') ?? [];
    if (cluster === undefined || path === undefined) {
      const items = names.map((name) => ({ metadata: { name, uid: `uid-${name}-${clusters.life}` } }));
      return sendJson(response, 200, { kind: 'ClusterList', items });
    }
    clusters.requests.push(`${cluster} ${request.method} ${path}`);
    if (clusters.intercept(cluster, request, response)) return undefined;
    if (path === '/api' || path === '/apis') {
      const items = path === '/apis' ? [] : [{ metadata: {}, versions: [{ version: 'v1', resources: served }] }];
      return sendJson(response, 200, { kind: 'APIGroupDiscoveryList', items });
    }
    return answerObjects(clusters, cluster, request, response);
  };
  return clusters;
}

function answerObjects(
  { objects }: ManyClusters,
  cluster: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = new URL(request.url ?? '', 'https://stub');
  const key = `${cluster} ${url.pathname.replace(/^\/clusters\/[^/]+\/proxy/, '')}`;
  const selector = url.searchParams.get('labelSelector');
  if (selector !== null) {
    const [label, value] = selector.split('=');
    const items = [...objects]
      .filter(([each, { metadata }]) => each.startsWith(`${key}/`) && metadata.labels?.[label!] === value)
      .map(([, object]) => object);
    return sendJson(response, 200, { kind: 'PartialObjectMetadataList', metadata: {}, items });
  }
  const existing = objects.get(key);
  if (request.method === 'PATCH') return void applyBody(objects, key, request, response);
  if (existing === undefined) return sendStatus(response, 404, 'NotFound', 'not found');
  if (request.method === 'DELETE') return void deleteObject(objects, key, request, response);
  return sendJson(response, 200, existing);
}

/**
 * Deletes an object. Like a real server it checks the UID in the request's preconditions, without which the commands
 * delete no member of a set.
 */
async function deleteObject(
  objects: ManyClusters['objects'],
  key: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const text = await textOf(request);
  const { preconditions } = JSON.parse(text === '' ? '{}' : text) as { preconditions?: { uid?: string } };
  const isMember = objects.get(key)?.metadata.labels?.['applyset.kubernetes.io/part-of'] !== undefined;
  if (isMember && preconditions?.uid !== `uid-${key}`) return sendStatus(response, 409, 'Conflict', 'another UID');
  if (request.url?.includes('dryRun=All') !== true) objects.delete(key);
  sendJson(response, 200, {});
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function applyBody(
  objects: ManyClusters['objects'],
  key: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const text = await textOf(request);
  const version = String(text.length) + text;
  const body = JSON.parse(text) as StoredObject;
  const existed = objects.has(key);
  const stored = { ...body, metadata: { ...body.metadata, uid: `uid-${key}`, resourceVersion: version } };
  objects.set(key, stored);
  sendJson(response, existed ? 200 : 201, stored);
}
