// Requests for every cluster (`/clusters/*/proxy`) against a whole gateway and members that say exactly what a test
// wants. An answer that looks whole and is not; so every test that leaves a cluster out also looks for its name.
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, test } from 'node:test';
import { rightsTests } from '../attack/fanout-rights.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';
import { watchTests } from './fanout-watch.ts';
import { ask as askSite, json, live, marked, pod, pods, servePods, startFanoutSite, status } from './fanout-site.ts';

let site: Site;
before(async () => {
  site = await startFanoutSite();
});
after(() => site.close());

beforeEach(() => {
  for (const [i, member] of site.members.entries()) {
    member.requests.length = 0;
    member.answer = (request) => servePods(request, pods.get(`m${i + 1}`)!);
  }
});

const ask = (
  path: string,
  user?: string,
  headers?: readonly string[],
  method?: string,
  body?: string,
): Promise<RawAnswer> => askSite(site, path, user, headers, method, body);
const list = (query: string, user = 'alice', headers: readonly string[] = []): Promise<RawAnswer> =>
  ask(`/clusters/*/proxy/api/v1/pods?${query}`, user, headers);

/** Everything before `items`, without looking at it as JSON. */
const itemsOf = ({ body }: RawAnswer): string => body.slice(body.indexOf('[') + 1, body.lastIndexOf('],"metadata"'));

test('a list holds the objects of every cluster in the order of their names, each as its member wrote it, and says whose it is', async () => {
  const answer = await list(live);
  assert.equal(answer.status, 200);
  assert.ok(answer.complete);
  const expected = [...pods].flatMap(([cluster, names]) => names.map((name) => marked(name, cluster)));
  assert.equal(itemsOf(answer), expected.join());
  const { kind, metadata } = JSON.parse(answer.body) as { kind: string; metadata: { resourceVersion: string } };
  assert.equal(kind, 'PodList');
  assert.deepEqual(Object.keys(JSON.parse(Buffer.from(metadata.resourceVersion, 'base64url').toString()) as object), [
    'm1',
    'm2',
    'm3',
  ]);
  assert.deepEqual(answer.values('warning'), []);
  for (const member of site.members) {
    assert.deepEqual(
      member.requests.map(({ target }) => target),
      ['/api/v1/pods'],
    );
    assert.deepEqual(member.requests[0]!.values('impersonate-user'), ['alice']);
  }
});

test('a Table has the cluster in its first column', async () => {
  const answer = await list(live, 'alice', ['Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json']);
  const table = JSON.parse(answer.body) as {
    kind: string;
    columnDefinitions: { name: string }[];
    rows: { cells: string[] }[];
  };
  assert.equal(table.kind, 'Table');
  assert.deepEqual(
    table.columnDefinitions.map(({ name }) => name),
    ['Cluster', 'Name'],
  );
  assert.deepEqual(
    table.rows.map(({ cells }) => cells.join(' ')),
    ['m1 a', 'm1 b', 'm1 c', 'm2 d', 'm2 e', 'm3 f'],
  );
  const protobuf = await list(live, 'alice', ['Accept: application/vnd.kubernetes.protobuf']);
  assert.equal(protobuf.status, 406);
});

test('a cluster that is down or silent is named in a Warning and an annotation, and the rest is there (FLT-16)', async () => {
  site.members[1]!.answer = () => {};
  const answer = await list('');
  assert.equal(answer.status, 200);
  assert.match(
    answer.values('warning').join('\n'),
    /^299 - "cluster m0: .+"\n299 - "cluster m2: sent no answer within 1 s"$/,
  );
  const { items, metadata } = JSON.parse(answer.body) as {
    items: object[];
    metadata: { annotations: Record<string, string> };
  };
  assert.equal(items.length, 4);
  const missing = JSON.parse(metadata.annotations['search.portcullis.io/missing-clusters']!) as Record<
    string,
    { code: number }
  >;
  assert.deepEqual(
    Object.entries(missing).map(([cluster, { code }]) => [cluster, code]),
    [
      ['m0', 503],
      ['m2', 504],
    ],
  );

  site.members[1]!.answer = (request) => servePods(request, []);
  const whole = await list('partial=false');
  assert.equal(whole.status, 503);
  assert.deepEqual(whole.values('retry-after'), []);
  const { kind, message, details } = JSON.parse(whole.body) as {
    kind: string;
    message: string;
    details: { causes: { field: string }[] };
  };
  assert.equal(kind, 'Status');
  assert.match(message, /did not answer: m0$/);
  assert.deepEqual(
    details.causes.map(({ field }) => field),
    ['m0'],
  );
});

test('a type that some clusters do not serve is there from the others, and unknown when nobody does', async () => {
  site.members[0]!.answer = (request) => request.reply(404, json, status(404, 'NotFound', 'no'));
  const answer = await list(live);
  assert.deepEqual(
    [answer.status, answer.values('warning'), (JSON.parse(answer.body) as { items: object[] }).items.length],
    [200, [], 3],
  );
  assert.equal((await ask('/clusters/*/proxy/apis/x.y/v1/things?clusterSelector=!tier')).status, 404);
});

test('a member that breaks off cuts the answer', async () => {
  site.members[2]!.answer = ({ socket }) => {
    socket.end(
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"kind":"PodList","items":[{"a":1},',
    );
  };
  const answer = await list(live);
  assert.equal(answer.status, 200);
  assert.equal(answer.complete, false);
});

test('a client that stops reading holds the members back', async () => {
  const member = site.members[0]!;
  const items = Array.from({ length: 400 }, () => `{"metadata":{"name":"x"},"data":"${'y'.repeat(50_000)}"}`);
  member.answer = (request) => request.reply(200, json, `{"kind":"XList","items":[${items.join()}],"metadata":{}}`);
  const path = `/clusters/*/proxy/api/v1/pods?${live}`;
  const headers = { authorization: 'Bearer alice-token' };
  // Nothing is read of an answer that nobody listens to.
  const answered = new Promise<IncomingMessage>((resolve) =>
    get({ host: '127.0.0.1', port: site.port, ca: site.ca, agent: false, path, headers }, resolve),
  );
  const { socket } = await member.request(0);
  let before = Infinity;
  const left = await waitFor(() => {
    const isSteady = socket.writableLength === before && socket.writableLength > 0;
    before = socket.writableLength;
    return isSteady && before;
  });
  // What lies in the kernel's buffers and ours on both ways.
  assert.ok(left > 8_000_000, `${left} bytes of 20,000,000 were left with the member`);
  const body = await text(await answered);
  assert.equal((JSON.parse(body) as { items: object[] }).items.length, 403);
});

test('pages of every size hold every object once, in order, and none is longer than its limit', async () => {
  for (const limit of [1, 2, 3, 4, 5, 6, 7]) {
    let token = '';
    let items = '';
    const versions = new Set<string>();
    do {
      const answer = await list(`${live}&limit=${limit}${token === '' ? '' : `&continue=${token}`}`);
      assert.equal(answer.status, 200, answer.body);
      const page = JSON.parse(answer.body) as {
        items: object[];
        metadata: { continue?: string; resourceVersion: string };
      };
      assert.ok(page.items.length <= limit && page.items.length > 0, `${page.items.length} of ${limit}`);
      items += (items === '' ? '' : ',') + itemsOf(answer);
      token = page.metadata.continue ?? '';
      versions.add(page.metadata.resourceVersion);
    } while (token !== '');
    assert.equal(items, [...pods].flatMap(([cluster, names]) => names.map((name) => marked(name, cluster))).join());
    assert.equal(versions.size, 1);
  }
});

test('clusters the caller may not reach are nowhere: not in rows, warnings, tokens or counts, and are not asked', async () => {
  for (const query of ['', 'limit=2', 'partial=false', 'clusterSelector=tier']) {
    const answer = await list(query, 'bob');
    assert.equal(answer.status, 200, query);
    const { metadata } = JSON.parse(answer.body) as { metadata: { resourceVersion: string; continue?: string } };
    const tokens =
      Buffer.from(metadata.resourceVersion, 'base64url').toString() +
      Buffer.from(metadata.continue ?? '', 'base64url').toString();
    assert.doesNotMatch(answer.head + answer.body + tokens, /\bm[02]\b/);
  }
  assert.equal(site.members[1]!.requests.length, 0);
  assert.equal((await list('', 'eve')).status, 403);
  // The same in the spelling of clients in Go.
  for (const star of ['%2A', '%2a']) {
    const answer = await ask(`/clusters/${star}/proxy/api/v1/pods`, 'bob');
    assert.equal(answer.status, 200);
    assert.doesNotMatch(answer.head + answer.body, /\bm[02]\b/);
    assert.equal((await ask(`/clusters/${star}/proxy/api/v1/pods`, 'eve')).status, 403);
    assert.equal(
      (await ask(`/apis/gateway.portcullis.io/v1alpha1/clusters/${star}/proxy/api/v1/pods`, 'eve')).status,
      403,
    );
  }
  assert.equal(site.members[1]!.requests.length, 0);
});

test('who may act as somebody else in one cluster asks that cluster alone as them', async () => {
  const answer = await list('', 'ops', ['Impersonate-User: alice']);
  assert.equal(answer.status, 200, answer.body);
  assert.equal(itemsOf(answer), ['d', 'e'].map((name) => marked(name, 'm2')).join());
  assert.doesNotMatch(answer.head + answer.body, /\bm[013]\b/);
  assert.deepEqual(
    site.members.map(({ requests }) => requests.length),
    [0, 1, 0],
  );
  assert.deepEqual(site.members[1]!.requests[0]!.values('impersonate-user'), ['alice']);
  assert.equal((await list('', 'ops', ['Impersonate-User: bob'])).status, 403);
  assert.equal((await list('', 'eve', ['Impersonate-User: alice'])).status, 403);
});

test('a continue token of another user, another question or changed by a byte is refused and nobody is asked', async () => {
  const { metadata } = JSON.parse((await list(`${live}&limit=4`)).body) as { metadata: { continue: string } };
  const token = metadata.continue;
  const parts = JSON.parse(Buffer.from(token, 'base64url').toString()) as string[];
  assert.ok(parts.includes('m2'));
  const forged = Buffer.from(JSON.stringify(parts.with(1, 'm3'))).toString('base64url');
  for (const member of site.members) member.requests.length = 0;
  assert.equal((await list(`limit=4&continue=${token}`, 'bob')).status, 400);
  assert.equal((await list(`${live}&limit=4&continue=${forged}`)).status, 400);
  assert.equal((await list(`${live}&limit=4&continue=${token}&labelSelector=a`)).status, 400);
  assert.equal((await list(`${live}&resourceVersion=7`)).status, 400);
  assert.equal(site.upstream(), 0);
});

test('get finds the one cluster that has the object, and says so when there are several or none', async () => {
  const get = (name: string, query = live): Promise<RawAnswer> =>
    ask(`/clusters/*/proxy/api/v1/namespaces/x/pods/${name}?${query}`);
  const found = await get('d');
  assert.deepEqual([found.status, found.body], [200, marked('d', 'm2')]);
  assert.equal((await get('nowhere')).status, 404);
  assert.equal((await get('nowhere', '')).status, 503, 'a cluster that is down may have it');
  site.members[2]!.answer = (request) => servePods(request, ['d']);
  const both = await get('d');
  assert.equal(both.status, 409);
  assert.match((JSON.parse(both.body) as { message: string }).message, /2 clusters have .*: m2, m3/);
});

test('a write needs a selector, goes to each selected cluster, and says what became of it in each', async () => {
  const body = '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"new"}}';
  const post = (query: string, user = 'alice'): Promise<RawAnswer> =>
    ask(
      `/clusters/*/proxy/api/v1/namespaces/x/pods?${query}`,
      user,
      [...json, `Content-Length: ${body.length}`],
      'POST',
      body,
    );
  assert.equal((await post('')).status, 400);
  // Of nothing, of what kube-apiserver would not read, of what Go would drop, and of two.
  for (const selector of [
    '',
    '+',
    '%20%09',
    ',',
    '!',
    '!a%3Eb',
    '!-_-',
    'a!=%25%5E',
    '%zz',
    'a;b',
    'tier&clusterSelector=!tier',
  ]) {
    assert.equal((await post(`clusterSelector=${selector}`)).status, 400, selector);
  }
  assert.equal((await post('cluster%53elector=%20')).status, 400);
  assert.equal(site.upstream(), 0);
  for (const [i, member] of site.members.entries()) {
    member.answer = (request) =>
      void request.body.then((bytes) => {
        assert.equal(bytes.toString(), body);
        if (i === 1) request.reply(409, json, status(409, 'AlreadyExists', 'pods "new" already exists'));
        else request.reply(201, json, pod('new'));
      });
  }
  const answer = await post(`${live}&dryRun=All`);
  assert.equal(answer.status, 409);
  const { details } = JSON.parse(answer.body) as { details: { causes: object[] } };
  assert.deepEqual(details.causes, [
    { reason: 'Success', message: 'done (201)', field: 'm1' },
    { reason: 'AlreadyExists', message: 'pods "new" already exists', field: 'm2' },
    { reason: 'Success', message: 'done (201)', field: 'm3' },
  ]);
  assert.equal(site.members[0]!.requests[0]!.target, '/api/v1/namespaces/x/pods?dryRun=All');
  const fine = await post(live, 'bob');
  assert.deepEqual([fine.status, (JSON.parse(fine.body) as { status: string }).status], [200, 'Success']);
  assert.equal(site.members[1]!.requests.length, 1, 'bob may not reach m2');
});

test('what has no meaning for many clusters is refused with a hint, and only a star is one', async () => {
  const refused: [path: string, headers: string[], code: number][] = [
    ['/api/v1/namespaces/x/pods/a/log', [], 400],
    ['/api/v1/namespaces/x/pods/a/proxy/', [], 400],
    [
      '/api/v1/namespaces/x/pods/a/exec?command=id',
      [
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      ],
      400,
    ],
    ['/metrics', [], 400],
    ['/api/v1/watch/pods', [], 400],
  ];
  for (const [path, headers, code] of refused) {
    const answer = await ask(`/clusters/*/proxy${path}`, 'alice', headers);
    assert.equal(answer.status, code, path);
    assert.match(answer.body, /clusters\/<name>\/proxy|watch=true/);
  }
  assert.equal((await ask('/clusters/%252A/proxy/api/v1/pods')).status, 400);
  assert.equal((await ask('/clusters/*%2Fm1/proxy/api/v1/pods')).status, 400);
  assert.equal((await ask('/clusters/**/proxy/api/v1/pods')).status, 404);
  assert.equal((await ask('/apis/cluster.karmada.io/v1alpha1/clusters/*/proxy/api/v1/pods')).status, 404);
  assert.equal(site.upstream(), 0);
});

test('a member that refuses one caller is named with its reason', async () => {
  site.members[0]!.answer = (request) => request.reply(403, json, status(403, 'Forbidden', 'pods is forbidden'));
  assert.match((await list(live)).values('warning').join(), /cluster m1: pods is forbidden/);
  for (const member of site.members)
    member.answer = (request) => request.reply(403, json, status(403, 'Forbidden', 'pods is forbidden'));
  assert.equal((await list(live)).status, 403);
});

watchTests();
rightsTests();
