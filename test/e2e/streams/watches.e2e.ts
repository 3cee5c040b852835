// Many watches with one credential see every change once and in order, end with their member, and leave nothing behind
// when their client goes. All start at the same resourceVersion, so each must be byte for byte what a watch on the
// member itself shows.
// Runs alone: it says how soon a thousand watches end.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { http1Client, http2Client } from '../../clients/stream-client.ts';
import type { OpenAnswer, StreamClient, StreamServer } from '../../clients/stream-client.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { sumMetric } from '../../controlplane/requests.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { eventually } from '../../site/polling.ts';

const carol = { token: 'carol-at-the-gateway', name: 'carol', groups: ['operators'] };
const watchCount = 250;
const changeCount = 100;
/** How soon the other side must hear of an end. */
const endsWithinMs = 1_000;
const configMaps = '/api/v1/namespaces/team-a/configmaps';
const through = `/clusters/m1/proxy${configMaps}`;
const protobuf = { accept: 'application/vnd.kubernetes.protobuf;stream=watch' };
let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess;
let server: StreamServer;
/** 125 connections of HTTP/1.1, and HTTP/2 sessions with at most 90 streams each. */
let clients: readonly StreamClient[];
let ownWatches = 0;
let watches: readonly OpenAnswer[] = [];

before(async () => {
  plane = await startControlPlane({ members: ['m1'] });
  member = plane.member('m1');
  gateway = await startGatewayProcess({ kubeconfigs: [plane.gatewayKubeconfig], users: [carol] });
  server = { url: gateway.url, caPem: gateway.caPem, headers: { authorization: `Bearer ${carol.token}` } };
  clients = [http1Client(server), await http2Client(server), await http2Client(server)];
  ownWatches = await openAtMember();
});

after(async () => {
  for (const client of clients ?? []) client.close();
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

/** The n-th watch's client: every second HTTP/1.1, the others shared out among the HTTP/2 sessions. */
function clientOf(index: number): StreamClient {
  return index % 2 === 0 ? clients[0]! : clients[1 + (((index - 1) / 2) % (clients.length - 1))]!;
}

/** Watches of configmaps that the member has open, but for those of its own. */
async function openAtMember(): Promise<number> {
  const labels = { verb: 'WATCH', resource: 'configmaps', scope: 'namespace' };
  return (await member.metric('apiserver_longrunning_requests', labels)) - ownWatches;
}

async function write(method: string, name: string, at?: number): Promise<string> {
  const path = method === 'POST' ? configMaps : `${configMaps}/${name}`;
  const object = at === undefined ? undefined : { metadata: { name }, data: { at: String(at) } };
  const answer = await member.request(method, path, object);
  assert.ok(answer.status < 300, answer.body);
  return answer.body;
}

/** `TYPE name at` of every change, in order: creations, updates of one object after the other, deletions. */
async function makeChanges(): Promise<readonly string[]> {
  const events: string[] = [];
  const last = new Map<string, number>();
  for (let at = 0; at < changeCount; at++) {
    const name = `object-${at % 20}`;
    const type = at < 20 ? 'ADDED' : at < 80 ? 'MODIFIED' : 'DELETED';
    if (type === 'DELETED') await write('DELETE', name);
    else await write(type === 'ADDED' ? 'POST' : 'PUT', name, at);
    if (type !== 'DELETED') last.set(name, at);
    events.push(`${type} ${name} ${last.get(name)}`);
  }
  return events;
}

interface WatchEvent {
  readonly type: string;
  readonly object: {
    readonly metadata: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> };
    readonly data?: Readonly<Record<string, string>>;
  };
}

function jsonEvents(body: Buffer): WatchEvent[] {
  const lines = body.toString().split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as WatchEvent);
}

function protobufEventCount(body: Buffer): number {
  let count = 0;
  for (let at = 0; at + 4 <= body.length && at + 4 + body.readUInt32BE(at) <= body.length; count++)
    at += 4 + body.readUInt32BE(at);
  return count;
}

test(`${watchCount} watches with one credential see ${changeCount} changes once and in order`, async (t) => {
  const { resourceVersion } = (JSON.parse((await member.request('GET', configMaps)).body) as List).metadata;
  const query = `?watch=true&resourceVersion=${resourceVersion}`;
  watches = await Promise.all(
    Array.from({ length: watchCount }, (_, i) => clientOf(i).get(through + query, i % 4 < 2 ? {} : protobuf)),
  );
  for (const watch of watches) assert.equal(watch.status, 200);
  await eventually('all are open at the member', async () => (await openAtMember()) === watchCount);
  const sessions = sumMetric(await gatewayMetrics(), 'portcullis_upstream_connections', { state: 'http2-sessions' });
  assert.equal(sessions, Math.ceil(watchCount / 90), 'HTTP/2 sessions, at most 90 streams each');

  const direct = http1Client({
    url: member.url,
    caPem: member.caPem,
    headers: { authorization: `Bearer ${member.users.carol.token}` },
  });
  const references = [await direct.get(configMaps + query), await direct.get(configMaps + query, protobuf)] as const;
  const startedMs = performance.now();
  const expected = await makeChanges();
  const [json, framed] = await Promise.all([
    references[0].until((body) => jsonEvents(body).length >= changeCount),
    references[1].until((body) => protobufEventCount(body) >= changeCount),
  ]);
  const seen = jsonEvents(json).map(({ type, object }) => `${type} ${object.metadata.name} ${object.data?.['at']}`);
  assert.deepEqual(seen, expected);
  await Promise.all(
    watches.map(async (watch, i) => {
      const reference = i % 4 < 2 ? json : framed;
      const body = await watch.until((so) => so.length >= reference.length);
      assert.ok(body.equals(reference), `watch ${i} over ${clientOf(i).protocol} differs from the member's own`);
    }),
  );
  t.diagnostic(`${watchCount * changeCount} events in ${Math.round(performance.now() - startedMs)} ms`);
  direct.close();
});

interface List {
  readonly metadata: { readonly resourceVersion: string };
}

async function gatewayMetrics(): Promise<string> {
  return await (await fetch(`${gateway.opsUrl}/metrics`)).text();
}

test('a client that goes leaves no watch at the member after a second', async (t) => {
  await eventually('only ours are open', async () => (await openAtMember()) === watchCount);
  const closed = async (what: string, left: number): Promise<void> => {
    const startedMs = performance.now();
    let askedMs = startedMs;
    await eventually(what, async () => {
      askedMs = performance.now();
      return (await openAtMember()) === left;
    });
    assert.ok(askedMs - startedMs < endsWithinMs, `${what}: after ${askedMs - startedMs} ms`);
    t.diagnostic(`${what}: ${Math.round(askedMs - startedMs)} ms`);
  };
  for (const i of [0, 1]) {
    watches[i]!.close();
    await closed(`one watch over ${clientOf(i).protocol}`, watchCount - 1 - i);
  }
  for (const client of clients) client.close();
  await closed('all the others', 0);
});

for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
  test(`WatchList and bookmarks pass over ${protocol}`, async () => {
    const client = protocol === 'HTTP/2' ? await http2Client(server) : http1Client(server);
    await write('POST', 'one', 1);
    await write('POST', 'two', 2);
    const initial = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const list = await client.get(`${through}?watch=true&${initial}`);
    assert.equal(list.status, 200);
    const isEnd = ({ type, object }: WatchEvent): boolean =>
      type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
    const first = jsonEvents(await list.until((body) => jsonEvents(body).some(isEnd)));
    assert.deepEqual(
      first.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`),
      ['ADDED one', 'ADDED two', 'BOOKMARK '],
    );
    await write('PUT', 'one', 3);
    const [next] = jsonEvents(await list.until((body) => jsonEvents(body).length > first.length)).slice(first.length);
    assert.deepEqual([next?.type, next?.object.data?.['at']], ['MODIFIED', '3']);
    list.close();

    // A kube-apiserver sends a bookmark about two seconds before it ends a watch.
    const short = await client.get(`${through}?watch=true&allowWatchBookmarks=true&timeoutSeconds=4`);
    assert.equal(await short.ended, 'complete');
    assert.equal(jsonEvents(short.body()).at(-1)?.type, 'BOOKMARK');
    for (const name of ['one', 'two']) await write('DELETE', name);
    client.close();
  });
}

test('when the member is killed every client ends within a second, and watches work again once it is back', async (t) => {
  clients = [http1Client(server), await http2Client(server)];
  const open = await Promise.all(
    Array.from({ length: 40 }, (_, i) => clientOf(i).get(`${through}?watch=true`, i % 4 < 2 ? {} : protobuf)),
  );
  await eventually('all are open at the member', async () => (await openAtMember()) === open.length);
  await member.kill();
  const startedMs = performance.now();
  for (const watch of open) assert.equal(await watch.ended, 'cut');
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < endsWithinMs, `after ${tookMs} ms`);
  t.diagnostic(`${open.length} watches ended ${Math.round(tookMs)} ms after the member`);
  await member.restart();
  const again = await eventually('a watch opens again', async () => {
    const watch = await clients[0]!.get(`${through}?watch=true`);
    return watch.status === 200 && watch;
  });
  await write('POST', 'back', 1);
  await again.until((body) => jsonEvents(body).some(({ object }) => object.metadata.name === 'back'));
});
