import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import type { ApiAnswer, ApiCall, ApiObject, WatchedResource } from '../../kube/types.ts';
import { startHubServing } from './hub-serving.ts';
import type { HubServing } from './hub-serving.ts';
import { makeLog } from '../../lib/log.ts';
import { bundleCovers, leafLifeMs } from '../certificates/serving-material.ts';

const secretKey = 'gate/serving';
const apiServiceName = 'v1alpha1.gateway.portcullis.io';
const running: HubServing[] = [];
afterEach(() => {
  for (const serving of running.splice(0)) serving.close();
});

/** A hub of one Secret and one APIService with optimistic locking; every change is told to all followers at once. */
class SmallHub {
  readonly objects = new Map<string, ApiObject>();
  readonly calls: string[] = [];
  readonly #followers = new Set<{
    resource: WatchedResource;
    tell: (objects: ReadonlyMap<string, ApiObject>) => void;
  }>();
  #version = 1;
  deny: string | undefined;
  isTold = true;

  put(key: string, object: object): void {
    const old = this.objects.get(key);
    const metadata = {
      name: key.split('/').at(-1)!,
      uid: 'u',
      ...old?.metadata,
      resourceVersion: `${(this.#version += 1)}`,
    };
    this.objects.set(key, { ...object, metadata });
    if (this.isTold) this.tellAll();
  }

  tellAll(): void {
    for (const { resource, tell } of this.#followers) tell(this.#of(resource));
  }

  #of(resource: WatchedResource): ReadonlyMap<string, ApiObject> {
    const name = resource.fieldSelector!.replace('metadata.name=', '');
    const key = resource.namespace === undefined ? name : `${resource.namespace}/${name}`;
    const object = this.objects.get(key);
    return new Map(object === undefined ? [] : [[key, object]]);
  }

  readonly follow = (resource: WatchedResource, tell: (objects: ReadonlyMap<string, ApiObject>) => void) => {
    const follower = { resource, tell };
    this.#followers.add(follower);
    queueMicrotask(() => tell(this.#of(resource)));
    return { close: () => void this.#followers.delete(follower) };
  };

  async request(call: ApiCall): Promise<ApiAnswer> {
    this.calls.push(`${call.method} ${call.path}`);
    const answer = (status: number, body: unknown = {}): ApiAnswer => ({
      status,
      body: Buffer.from(JSON.stringify(body)),
    });
    if (this.deny === call.method) return answer(403);
    const key = call.path.includes('apiservices') ? apiServiceName : secretKey;
    const held = this.objects.get(key);
    if (held === undefined) return answer(404);
    if (call.method === 'PUT') {
      const sent = call.body as ApiObject;
      if (sent.metadata.resourceVersion !== held.metadata.resourceVersion) return answer(409);
      this.put(key, sent);
    } else if (call.method === 'PATCH') {
      this.put(key, { ...held, spec: { ...(held['spec'] as object), ...(call.body as { spec: object }).spec } });
    }
    return answer(200, this.objects.get(key));
  }

  caBundle(): string {
    const spec = this.objects.get(apiServiceName)?.['spec'] as { caBundle?: string } | undefined;
    return Buffer.from(spec?.caBundle ?? '', 'base64').toString('utf8');
  }
}

/** As the chart makes it, pointing to our Service. */
function apiService(spec: object = {}): object {
  return { kind: 'APIService', spec: { service: { name: 'portcullis', namespace: 'gate' }, ...spec } };
}

function hubWithSecret(): SmallHub {
  const hub = new SmallHub();
  hub.put(secretKey, { kind: 'Secret' });
  hub.put(apiServiceName, apiService());
  return hub;
}

async function start(
  hub: SmallHub,
  now = (): number => Date.now(),
  names = ['portcullis.gate.svc'],
): Promise<HubServing> {
  const serving = await startHubServing({
    client: hub,
    follow: hub.follow,
    namespace: 'gate',
    secretName: 'serving',
    apiServices: [apiServiceName],
    names,
    log: makeLog('silent'),
    now,
    startTimeoutMs: 2_000,
  });
  running.push(serving);
  return serving;
}

test('an empty Secret is filled and the APIService gets the CA before the certificate is shown', async () => {
  const hub = hubWithSecret();
  const serving = await start(hub);
  assert.ok(bundleCovers(hub.caBundle(), serving.caBundle()));
  const leaf = new X509Certificate(serving.current().cert);
  assert.ok(leaf.verify(new X509Certificate(hub.caBundle()).publicKey));
  assert.equal(leaf.checkHost('portcullis.gate.svc'), 'portcullis.gate.svc');
});

test('two replicas that start at once show the same certificate', async () => {
  const hub = hubWithSecret();
  hub.isTold = false;
  const [one, two] = await Promise.all([start(hub), start(hub)]);
  assert.deepEqual(one.current(), two.current());
  assert.equal(one.caBundle(), two.caBundle());
  assert.ok(hub.calls.filter((call) => call.startsWith('PUT')).length === 2, 'both tried');
});

test('a replica that starts later uses what is there and writes nothing', async () => {
  const hub = hubWithSecret();
  const one = await start(hub);
  hub.calls.length = 0;
  const two = await start(hub);
  assert.equal(two.current().cert, one.current().cert);
  assert.deepEqual(hub.calls, []);
});

test('after two thirds of its life the certificate is renewed once, and both replicas change', async () => {
  const hub = hubWithSecret();
  let nowMs = Date.now();
  const one = await start(hub, () => nowMs);
  const two = await start(hub, () => nowMs);
  const before = one.current().cert;
  let changes = 0;
  one.onChange(() => (changes += 1));
  two.onChange(() => (changes += 1));
  nowMs += (leafLifeMs * 2) / 3;
  await Promise.all([one.check(), two.check()]);
  await Promise.all([one.check(), two.check()]);
  assert.notEqual(one.current().cert, before);
  assert.equal(one.current().cert, two.current().cert);
  assert.equal(changes, 2);
});

test('a caBundle that somebody removes is written again, and one that holds more is left alone', async () => {
  const hub = hubWithSecret();
  const serving = await start(hub);
  hub.put(apiServiceName, apiService());
  await serving.check();
  assert.ok(bundleCovers(hub.caBundle(), serving.caBundle()));
  const more = Buffer.from(serving.caBundle() + serving.caBundle()).toString('base64');
  hub.put(apiServiceName, apiService({ caBundle: more }));
  hub.calls.length = 0;
  await serving.check();
  assert.deepEqual(hub.calls, []);
});

test("an APIService that points to somebody else's Service is left alone until it points to ours", async () => {
  const hub = hubWithSecret();
  hub.put(
    apiServiceName,
    apiService({ service: { name: 'gateway-service', namespace: 'vela-system' }, caBundle: 'dGhlaXJz' }),
  );
  const serving = await start(hub);
  assert.equal(hub.caBundle(), 'theirs');
  hub.put(apiServiceName, apiService({ caBundle: 'dGhlaXJz' }));
  await serving.check();
  assert.ok(bundleCovers(hub.caBundle(), serving.caBundle()));
});

test('an APIService that comes after the process gets its bundle', async () => {
  const hub = new SmallHub();
  hub.put(secretKey, { kind: 'Secret' });
  const serving = await start(hub);
  hub.put(apiServiceName, apiService());
  await serving.check();
  assert.ok(bundleCovers(hub.caBundle(), serving.caBundle()));
});

test('a certificate is not shown while its CA could not be written to the hub', async () => {
  const hub = hubWithSecret();
  const serving = await start(hub);
  const before = serving.current().cert;
  hub.deny = 'PATCH';
  hub.put(secretKey, { kind: 'Secret' });
  await assert.rejects(serving.check(), /refused by the hub's RBAC/);
  assert.equal(serving.current().cert, before);
  hub.deny = undefined;
  await serving.check();
  assert.notEqual(serving.current().cert, before);
});

test('without the Secret, or without the right to write it, the start is refused with what to do', async () => {
  await assert.rejects(start(new SmallHub()), (error: Error) => {
    assert.ok(error instanceof ConfigurationError);
    return /Secret gate\/serving: does not exist: create an empty one/.test(error.message);
  });
  const hub = hubWithSecret();
  hub.deny = 'PUT';
  await assert.rejects(start(hub), /update Secret gate\/serving: refused by the hub's RBAC/);
});

test('a hub that does not answer ends the start with a reason', async () => {
  const hub = hubWithSecret();
  await assert.rejects(
    startHubServing({
      client: hub,
      follow: () => ({ close: () => undefined }),
      namespace: 'gate',
      secretName: 'serving',
      apiServices: [],
      names: ['a'],
      log: makeLog('silent'),
      startTimeoutMs: 10,
    }),
    /the hub did not show Secret gate\/serving in time/,
  );
});
