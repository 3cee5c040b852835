// Many users, clusters and changes at once. Every request of a member carries the user it was made by, and the
// credential and the address of a cluster never come from two different moments.
import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { after, before, beforeEach, test } from 'node:test';
import { startHttp2Member } from '../../routing/http2/http2-member.fixture.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { answerEcho } from '../site/member.ts';
import type { MemberRequest } from '../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import { kubeconfigText, memberToken, startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Context, Site } from '../site/site.ts';

const users = Array.from({ length: 50 }, (_, i) => ({
  token: `token-${i}`,
  name: `user-${i}`,
  groups: [`group-${i}`, `group-${(i * 7) % 50}-b`],
}));
let site: Site;
let session: ClientHttp2Session;

before(async () => {
  site = await startSite({ members: 5, users });
  session = await openHttp2(site);
});
after(() => {
  session.destroy();
  site.close();
});
beforeEach(() => {
  for (const member of site.members) {
    member.requests.splice(0);
    member.answer = answerEcho;
  }
});

const line = (cluster: number, user: number, id: number): string =>
  `/clusters/m${cluster}/proxy/api/v1/pods?user=${user}&cluster=${cluster}&id=${id}`;

/** Every request of every member must be of the user and for the cluster its query tells. */
function assertOwnIdentities(expected: number): void {
  let seen = 0;
  for (const [i, member] of site.members.entries()) {
    for (const { target, values } of member.requests) {
      const [, user, cluster] = /user=(\d+)&cluster=(\d+)/.exec(target)!;
      assert.equal(cluster, String(i + 1));
      assert.deepEqual(values('impersonate-user'), [`user-${user}`]);
      assert.deepEqual(values('impersonate-group'), users[Number(user)]!.groups);
      assert.deepEqual(values('authorization'), [`Bearer ${memberToken(i + 1)}`]);
      seen += 1;
    }
  }
  assert.equal(seen, expected);
}

test('1,000 requests at once of 50 users to 5 members over HTTP/2: every one is its own user’s, every answer its own (ATT-36)', async () => {
  const sessions = [session, ...(await Promise.all(Array.from({ length: 9 }, () => openHttp2(site))))];
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, id) => {
      const user = id % 50;
      const path = line((id % 5) + 1, user, id);
      return http2Exchange(sessions[id % 10]!, http2Headers('GET', path, ['authorization', `Bearer token-${user}`]));
    }),
  );
  for (const [id, { status, body }] of answers.entries()) {
    assert.equal(status, 200);
    const echoed = JSON.parse(body) as { user: string[]; target: string };
    assert.deepEqual(echoed.user, [`user-${id % 50}`]);
    assert.ok(echoed.target.endsWith(`id=${id}`));
  }
  assertOwnIdentities(1000);
  for (const other of sessions.slice(1)) other.destroy();
});

test('the same over 50 HTTP/1.1 connections that change their user with every request (ATT-36)', async () => {
  await Promise.all(
    Array.from({ length: 50 }, async (_, connection) => {
      const client = await openRaw(site);
      for (let i = 0; i < 20; i++) {
        const user = (connection + i * 13) % 50;
        const id = connection * 20 + i;
        const body = 'x'.repeat(i * 10);
        const headers = [`Authorization: Bearer token-${user}`, `Content-Length: ${body.length}`];
        client.send(requestBytes(`POST ${line((id % 5) + 1, user, id)}`, headers, body));
        const echoed = JSON.parse((await client.answer()).body) as { user: string[]; target: string; bytes: number };
        assert.deepEqual(echoed.user, [`user-${user}`]);
        assert.ok(echoed.target.endsWith(`id=${id}`));
        assert.equal(echoed.bytes, body.length);
      }
      client.close();
    }),
  );
  assertOwnIdentities(1000);
});

test('200 watches on one HTTP/2 member carry their own users (ATT-36)', async () => {
  const member = await startHttp2Member(await site.authority.issue(['ip:127.0.0.1']), (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    stream.end('{}\n');
  });
  const watched = await startSite({
    users,
    contexts: () => [
      { name: 'h2', server: `https://127.0.0.1:${member.port}`, ca: site.authority.ca, token: 'h2-credential' },
    ],
  });
  const sessions = await Promise.all([openHttp2(watched), openHttp2(watched)]);
  await Promise.all(
    Array.from({ length: 200 }, (_, id) => {
      const path = `/clusters/h2/proxy/api/v1/pods?watch=true&user=${id % 50}`;
      const list = http2Headers('GET', path, ['authorization', `Bearer token-${id % 50}`]);
      return http2Exchange(sessions[id % 2]!, list);
    }),
  );
  let watches = 0;
  for (const raw of member.requests) {
    const values = (name: string): string[] => raw.filter((_, i) => i % 2 === 1 && raw[i - 1] === name);
    const user = /user=(\d+)$/.exec(values(':path')[0]!)?.[1];
    if (user === undefined) continue;
    watches += 1;
    assert.deepEqual(values('impersonate-user'), [`user-${user}`]);
    assert.deepEqual(values('impersonate-group'), users[Number(user)]!.groups);
  }
  assert.equal(watches, 200);
  for (const one of sessions) one.destroy();
  watched.close();
  await member.close();
});

/** Sends requests to a cluster one after the other on several connections until told to stop; the statuses. */
function load(cluster: string, connections: number): { stop(): Promise<number[]> } {
  const stopping = new AbortController();
  const statuses: number[] = [];
  const workers = Array.from({ length: connections }, async (_, i) => {
    const client = await openRaw(site);
    while (!stopping.signal.aborted) {
      client.send(requestBytes(`GET /clusters/${cluster}/proxy/api/v1/pods`, [`Authorization: Bearer token-${i}`]));
      statuses.push((await client.answer()).status);
    }
    client.close();
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all(workers);
      return statuses;
    },
  };
}

function write(contexts: readonly Context[]): void {
  site.replace(site.files.kubeconfig, kubeconfigText(contexts));
}

/** Waits until a request to the cluster arrives at that member with that credential. */
async function arrivesAt(cluster: string, member: number, token: string): Promise<void> {
  const client = await openRaw(site);
  await waitFor(async () => {
    client.send(requestBytes(`GET /clusters/${cluster}/proxy/mark`, ['Authorization: Bearer token-0']));
    await client.answer();
    return site.members[member]!.requests.some(
      ({ target, values }) => target === '/mark' && values('authorization')[0] === `Bearer ${token}`,
    );
  });
  client.close();
}

test('a name that moves to another server under load never sends one server the credential of the other (ATT-37)', async () => {
  const [m1, m2, ...others] = site.contexts;
  const running = load('m1', 8);
  const watch = await openRaw(site);
  site.members[0]!.answer = (request) => {
    if (request.target.includes('watch=true')) {
      request.socket.write(
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n',
      );
    } else if (request.values('upgrade').length > 0) {
      request.socket.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    } else answerEcho(request);
  };
  watch.send(requestBytes('GET /clusters/m1/proxy/api/v1/pods?watch=true', ['Authorization: Bearer token-0']));
  assert.equal((await watch.answer({ headOnly: true })).status, 200);
  const exec = await openRaw(site);
  const path = '/clusters/m1/proxy/api/v1/namespaces/a/pods/b/exec';
  exec.send(requestBytes(`POST ${path}`, ['Authorization: Bearer token-0', ...upgradeLines('SPDY/3.1')]));
  assert.equal((await exec.answer()).status, 101);
  // The same name, another server, another credential; and back, with a third one.
  const moved = { ...m1!, server: m2!.server, token: 'moved-credential' };
  write([moved, m2!, ...others]);
  await arrivesAt('m1', 1, 'moved-credential');
  // Told why, between two events: a watch that just ended would be taken for one that may be resumed.
  await watch.restMatches(/"type":"ERROR".*"code":404\}\}\n\r\n0\r\n\r\n$/);
  await exec.closed;
  write([{ ...m1!, token: 'third-credential' }, m2!, ...others]);
  await arrivesAt('m1', 0, 'third-credential');
  write(site.contexts);
  await arrivesAt('m1', 0, memberToken(1));
  const statuses = await running.stop();
  // While the address changes a request may find the old connections closed; nothing else may go wrong.
  assert.ok(statuses.length > 50);
  assert.deepEqual(new Set(statuses.filter((status) => status !== 503 && status !== 404)), new Set([200]));
  const allowed: readonly (readonly string[])[] = [
    [memberToken(1), 'third-credential'],
    [memberToken(2), 'moved-credential'],
  ];
  for (const [i, tokens] of allowed.entries()) {
    const used = new Set(site.members[i]!.requests.flatMap(({ values }) => values('authorization')));
    assert.deepEqual(
      [...used].filter((value) => !tokens.includes(value.replace('Bearer ', ''))),
      [],
    );
  }
});

test('rotating a token, adding and removing contexts under load: no failure for clusters that stay (ATT-37)', async () => {
  const [m1, m2, m3, ...others] = site.contexts;
  const running = [load('m1', 6), load('m3', 3)];
  for (let round = 1; round <= 3; round++) {
    write([{ ...m1!, token: `rotated-${round}` }, m2!, m3!, ...(round % 2 === 0 ? others : [])]);
    await arrivesAt('m1', 0, `rotated-${round}`);
    // From here on no request may use the credential before.
    site.members[0]!.requests.splice(0);
    await arrivesAt('m1', 0, `rotated-${round}`);
    const used = new Set(site.members[0]!.requests.flatMap(({ values }) => values('authorization')));
    assert.deepEqual([...used], [`Bearer rotated-${round}`]);
  }
  for (const one of running) {
    const statuses = await one.stop();
    assert.ok(statuses.length > 20);
    assert.deepEqual([...new Set(statuses)], [200]);
  }
  write(site.contexts);
  await arrivesAt('m1', 0, memberToken(1));
});

test('a cluster that is removed is 404, and its streams are closed (ATT-37)', async () => {
  const watch = await openRaw(site);
  site.members[4]!.answer = ({ socket }) =>
    void socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n');
  watch.send(requestBytes('GET /clusters/m5/proxy/api/v1/pods?watch=true', ['Authorization: Bearer token-0']));
  assert.equal((await watch.answer({ headOnly: true })).status, 200);
  const list = http2Headers('GET', '/clusters/m5/proxy/api/v1/pods', ['authorization', 'Bearer token-1']);
  const pending = http2Exchange(session, list);
  await site.members[4]!.request(1);
  write(site.contexts.slice(0, 4));
  await watch.restMatches(/"type":"ERROR".*"code":404\}\}\n\r\n0\r\n\r\n$/);
  const cut = await pending;
  assert.equal(cut.complete, false);
  const gone = await http2Exchange(session, list);
  assert.equal(gone.status, 404);
  assert.match(gone.values('warning')[0]!, /^299 - "cluster m5: /);
  await waitFor(() => site.members[4]!.sockets.every((socket) => socket.destroyed || socket.readableEnded));
  write(site.contexts);
});

test('a request that waits while its name is given to another cluster does not reach that one (ATT-37)', async () => {
  const authenticated = { kind: 'Group', name: 'system:authenticated' };
  const anything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  const waiting = await startSite({
    members: 2,
    users: [{ token: 'alice-token', name: 'alice' }],
    config: { maxUserClusterRequestsInflight: 1 },
    contexts: ([m1]) => [{ ...m1!, name: 'shop', labels: { env: 'dev' } }],
    rules: [
      { subjects: [authenticated], clusterSelector: { matchLabels: { env: 'dev' } }, ...anything },
      { subjects: [authenticated], verbs: ['get'], nonResourceURLs: ['*'] },
    ],
  });
  try {
    const alice = 'Authorization: Bearer alice-token';
    const shop = requestBytes('GET /clusters/shop/proxy/api/v1/secrets', [alice]);
    const [dev, prod] = waiting.members;
    dev!.answer = () => undefined;
    const [first, second] = [await openRaw(waiting), await openRaw(waiting)];
    first.send(shop);
    await dev!.request(0);
    second.send(shop);
    const isQueued = async (): Promise<boolean> => {
      const health = await exchange(waiting, requestBytes('GET /readyz?verbose', [alice]));
      return health.body.includes(' 1 waiting');
    };
    await waitFor(isQueued);
    const m2 = waiting.contexts.find(({ name }) => name === 'm2')!;
    const moved = waiting.contexts.map((each) =>
      each.name === 'shop' ? { ...m2, name: 'shop', labels: { env: 'prod' } } : each,
    );
    waiting.replace(waiting.files.kubeconfig, kubeconfigText(moved));
    assert.equal((await second.answer()).status, 503);
    // Asked anew it is judged anew.
    assert.equal((await exchange(waiting, shop)).status, 403);
    assert.equal(prod!.requests.length, 0);
  } finally {
    waiting.close();
  }
});

test('a list of every cluster does not reach one whose labels, by which rules judge, changed while it waited for its turn (ATT-37)', async () => {
  const authenticated = { kind: 'Group', name: 'system:authenticated' };
  const anything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  const dev = { env: 'dev' };
  // More than are asked at the same time, and the last is the one that changes.
  const first = Array.from({ length: 16 }, (_, i) => `a${String(i).padStart(2, '0')}`);
  const waiting = await startSite({
    members: 2,
    users: [{ token: 'alice-token', name: 'alice' }],
    contexts: ([m1, m2]) => [
      ...first.map((name) => ({ ...m1!, name, labels: dev })),
      { ...m2!, name: 'shop', labels: dev },
    ],
    rules: [{ subjects: [authenticated], clusterSelector: { matchLabels: dev }, ...anything }],
  });
  try {
    const [m1, m2] = waiting.members;
    const held: MemberRequest[] = [];
    m1!.answer = (request) => void held.push(request);
    const list = requestBytes('GET /clusters/*/proxy/api/v1/secrets', ['Authorization: Bearer alice-token']);
    const client = await openRaw(waiting);
    client.send(list);
    await waitFor(() => held.length === first.length);
    const moved = waiting.contexts.map((each) => (each.name === 'shop' ? { ...each, labels: { env: 'prod' } } : each));
    waiting.replace(waiting.files.kubeconfig, kubeconfigText(moved));
    const shop = requestBytes('GET /clusters/shop/proxy/api/v1/pods', ['Authorization: Bearer alice-token']);
    await waitFor(async () => (await exchange(waiting, shop)).status === 403);
    const empty = '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}';
    m1!.answer = (request) => request.reply(200, ['Content-Type: application/json'], empty);
    for (const request of held) request.reply(200, ['Content-Type: application/json'], empty);
    const answer = await client.answer();
    assert.equal(answer.status, 200);
    assert.deepEqual(
      m2!.requests.filter(({ target }) => target.includes('secrets')),
      [],
    );
  } finally {
    waiting.close();
  }
});
