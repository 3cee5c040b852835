// The forms in which the index sends the same rows: compressed, as Tables with chosen metadata, and as a watch over
// WebSocket.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from './index-site.ts';
import type { IndexSite, WatchEvent } from './index-site.ts';

const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const configMaps = `${index}/proxy/api/v1/configmaps`;
const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const large = 1500;
let site: IndexSite;

function configMap(namespace: string, name: string): JsonObject {
  const annotations = { note: 'x'.repeat(200) };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { app: name }, annotations } };
}

before(async () => {
  const many = Array.from({ length: large }, (_, i) => configMap('many', `row-${String(i).padStart(4, '0')}`));
  const namespaces = ['many', 'few'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  const seed = [binding('admin', 'cluster-admin', 'admin'), binding('viewer', 'view', 'viewer', 'few'), ...namespaces];
  site = await startIndexSite(
    ['admin', 'viewer'],
    { alpha: [...seed, ...many, configMap('few', 'one')], beta: [...seed, configMap('few', 'one')] },
    { indexResources: 'configmaps,namespaces' },
  );
  await eventually('both are indexed', async () =>
    /2 of 2 clusters followed completely/.test((await site.ask('/readyz?verbose')).text),
  );
});
after(() => site?.close());

/** Asks without decoding what is sent. */
async function raw(
  target: string,
  encoding: string,
  method = 'GET',
): Promise<{ readonly headers: Record<string, unknown>; readonly body: Buffer }> {
  const headers = { authorization: 'Bearer admin-token', 'accept-encoding': encoding };
  const request = httpsRequest(site.gateway.url + target, { method, headers, rejectUnauthorized: false }).end();
  const [response] = await once(request, 'response');
  return { headers: response.headers, body: await buffer(response) };
}

test('a large list is compressed for a client that accepts gzip, and holds the same bytes', async () => {
  for (const query of ['?limit=500', '']) {
    const plain = await raw(configMaps + query, 'identity');
    const packed = await raw(configMaps + query, 'br, gzip');
    assert.equal(packed.headers['content-encoding'], 'gzip');
    assert.equal(packed.headers['vary'], 'Accept-Encoding');
    assert.ok(packed.body.length * 5 < plain.body.length, `${packed.body.length} of ${plain.body.length} bytes`);
    const items = (body: Buffer): unknown => (JSON.parse(body.toString()) as { items: unknown }).items;
    assert.deepEqual(items(gunzipSync(packed.body)), items(plain.body));
    assert.equal(plain.headers['content-encoding'], undefined);
  }
});

test('an answer is not compressed when it is short, when gzip is not accepted, for HEAD and as a watch', async () => {
  const all = configMaps;
  const answers = [
    await raw(`${index}/proxy/api/v1/namespaces/few/configmaps`, 'gzip'),
    await raw(all, 'gzip;q=0, deflate'),
    await raw(all, 'gzip', 'HEAD'),
    await raw(`${all}?watch=true&timeoutSeconds=1`, 'gzip'),
  ];
  for (const { headers } of answers) assert.equal(headers['content-encoding'], undefined);
  assert.ok(answers[3]!.body.length > 128 * 1024, 'the watch is large enough');
});

test('a Table carries the object, its metadata, or of its metadata only what was chosen', async () => {
  const rowOf = async (query: string): Promise<JsonObject | undefined> => {
    const answer = await site.ask(`${index}/proxy/api/v1/namespaces/few/configmaps${query}`, 'admin', {
      headers: asTable,
    });
    return answer.json<{ rows: readonly { object?: JsonObject }[] }>().rows[0]!.object;
  };
  const metadata = await rowOf('?includeObject=Metadata');
  assert.equal(metadata?.['kind'], 'PartialObjectMetadata');
  assert.deepEqual(metadata?.['metadata'].labels, { app: 'one' });
  assert.equal(await rowOf('?includeObject=None'), undefined);
  assert.equal((await rowOf('?includeObject=Object'))?.['kind'], 'ConfigMap');
  const chosen = await rowOf('?includeObject=Metadata&fields=metadata.creationTimestamp');
  assert.deepEqual(Object.keys(chosen?.['metadata']).toSorted(), [
    'annotations',
    'creationTimestamp',
    'name',
    'namespace',
    'resourceVersion',
    'uid',
  ]);
  assert.deepEqual(Object.keys(chosen?.['metadata'].annotations), ['shadow.clusterpedia.io/cluster-name']);
});

interface Messages {
  readonly connection: WebSocket;
  readonly events: readonly WatchEvent[];
  until(count: number): Promise<unknown>;
}

async function watchOverWebSocket(
  target: string,
  user = 'admin',
  protocols: readonly string[] = [],
): Promise<Messages> {
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from(`${user}-token`).toString('base64url')}`;
  const connection = new WebSocket(
    site.gateway.url.replace('https', 'wss') + target,
    [token, 'base64.binary.k8s.io', ...protocols],
    { rejectUnauthorized: false },
  );
  const events: WatchEvent[] = [];
  connection.on('message', (data: Buffer, isBinary) => {
    assert.equal(isBinary, false);
    events.push(JSON.parse(data.toString()) as WatchEvent);
  });
  await once(connection, 'open');
  return {
    connection,
    events,
    until: (count) => eventually(`${count} events`, async () => events.length >= count),
  };
}

const few = `${index}/proxy/api/v1/namespaces/few/configmaps`;
const ownSurfaces: readonly (readonly [what: string, target: string, count: number])[] = [
  ['the index', `${few}?watch=true`, 2],
  ['every cluster', '/clusters/*/proxy/api/v1/namespaces/few/configmaps?watch=true', 2],
  ["the gateway's clusters", '/apis/gateway.portcullis.io/v1alpha1/clusters?watch=true', 2],
  ['one cluster', '/clusters/alpha/proxy/api/v1/namespaces/few/configmaps?watch=true', 1],
];

for (const [what, target, count] of ownSurfaces) {
  test(`a watch of ${what} over WebSocket sends each event as a message of its own`, async () => {
    const watch = await watchOverWebSocket(target);
    await watch.until(count);
    assert.equal(watch.connection.protocol, 'base64.binary.k8s.io');
    assert.deepEqual(new Set(watch.events.map(({ type }) => type)), new Set(['ADDED']));
    watch.connection.close();
    await once(watch.connection, 'close');
  });
}

test('a change reaches a watch over WebSocket, and its timeout closes the connection in order', async () => {
  const watch = await watchOverWebSocket(`${few}?watch=true&timeoutSeconds=2`);
  const closed = once(watch.connection, 'close');
  await watch.until(2);
  const made = await site.ask('/clusters/beta/proxy/api/v1/namespaces/few/configmaps', 'admin', {
    method: 'POST',
    body: configMap('few', 'new'),
  });
  assert.equal(made.status, 201, made.text);
  await watch.until(3);
  assert.equal(watch.events[2]!.object.metadata.name, 'new');
  const [code] = await closed;
  assert.equal(code, 1000);
});

test('a watch over WebSocket shows what its user may see, and is refused with a Status', async () => {
  const watch = await watchOverWebSocket(`${configMaps}?watch=true`, 'viewer');
  await watch.until(2);
  assert.ok(watch.events.every(({ object }) => object.metadata.namespace === 'few'));
  watch.connection.terminate();
  const refusals: readonly (readonly [target: string, user: string, key: string, status: number])[] = [
    [`${configMaps}?watch=true&resourceVersion=77`, 'admin', 'AAAAAAAAAAAAAAAAAAAAAA==', 410],
    [`${configMaps}?watch=true`, 'stranger', 'AAAAAAAAAAAAAAAAAAAAAA==', 401],
    [`${configMaps}?watch=true`, 'admin', 'short', 400],
    [configMaps, 'admin', 'AAAAAAAAAAAAAAAAAAAAAA==', 405],
  ];
  for (const [target, user, key, status] of refusals) {
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const answer = await site.ask(target, user, { headers: { ...upgrade, 'sec-websocket-key': key } });
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.json<JsonObject>()['kind'], 'Status');
  }
});

test('a page of another origin cannot watch with a certificate alone', async () => {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    origin: 'https://elsewhere.example',
    authorization: '',
  };
  const answer = await site.ask(`${configMaps}?watch=true`, 'admin', { headers });
  assert.equal(answer.status, 403, answer.text);
});
