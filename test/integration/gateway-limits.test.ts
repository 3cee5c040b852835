// The limits by what users notice: who floods is held back or refused, who asks little is answered, a slow cluster is
// nobody else's. Order decides, never time: the member answers when the test says so.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import type { Http2Answer } from '../site/http2-client.ts';
import { answerEcho } from '../site/member.ts';
import type { MemberRequest } from '../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';

const users = ['big', 'small', 'third'].map((name) => ({ name, token: `${name}-token` }));
const bearer = (user: string): string => `Authorization: Bearer ${user}-token`;
const pods = (cluster: string): string => `/clusters/${cluster}/proxy/api/v1/namespaces/default/pods`;

let site: Site;
before(async () => {
  site = await startSite({
    members: 2,
    users,
    config: {
      maxRequestsInflight: 4,
      maxClusterRequestsInflight: 3,
      maxUserRequestsInflight: 4,
      maxUserRequestsQueued: 10,
      maxUserStreams: 2,
      maxConnections: 0,
    },
  });
});
after(() => site.close());
beforeEach(() => {
  for (const member of site.members) {
    member.requests.length = 0;
    member.answer = answerEcho;
  }
});
/** Everything of one test is over before the next begins. */
afterEach(async () => {
  await waitFor(async () => {
    const answer = await exchange(site, requestBytes('GET /readyz?verbose', [bearer('third')]));
    return /\]limits ok: 0 reading and 0 changing requests under way, 0 waiting, 0 streams/.test(answer.body);
  });
});

/** Users of the requests that reached a member, in order. */
function order(): string[] {
  return site.members.flatMap(({ requests }) => requests).map((request) => request.values('impersonate-user')[0]!);
}

/** Lets the member keep what it is asked until it is told to answer one after another, also what comes meanwhile. */
function holding(number = 0): { readonly release: () => void } {
  const member = site.members[number]!;
  const held: MemberRequest[] = [];
  let released = false;
  member.answer = (request) => {
    if (released) answerEcho(request);
    else held.push(request);
  };
  return {
    release() {
      released = true;
      held.forEach(answerEcho);
    },
  };
}

for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
  test(`a flood of one user is held back and refused, and a small user goes through behind it, over ${protocol}`, async () => {
    const member = holding();
    const asked: (user: string) => Promise<{ status: number; values(name: string): string[] }> =
      protocol === 'HTTP/2'
        ? await over2()
        : (user) => exchange(site, requestBytes(`GET ${pods('m1')}`, [bearer(user)]));
    const refused: { status: number; values(name: string): string[] }[] = [];
    const flood = Array.from({ length: 40 }, async () => {
      const answer = await asked('big');
      if (answer.status === 429) refused.push(answer);
      return answer.status;
    });
    // 3 slots of the cluster and 10 in the queue: the rest is told at once.
    await waitFor(() => refused.length === 27);
    for (const { values } of refused) assert.deepEqual(values('retry-after'), ['1']);
    const small = [1, 2, 3].map(() => asked('small'));
    await waitFor(async () => {
      const ready = await exchange(site, requestBytes('GET /readyz?verbose', [bearer('third')]));
      return ready.body.includes(', 13 waiting');
    });
    member.release();
    assert.deepEqual(
      (await Promise.all(small)).map(({ status }) => status),
      [200, 200, 200],
    );
    const statuses = await Promise.all(flood);
    assert.deepEqual([statuses.filter((status) => status === 200).length, refused.length], [13, 27]);
    // After the three that were under way the two users take turns.
    assert.ok(order().lastIndexOf('small') <= 3 + 2 * 3, order().join(' '));
  });
}

async function over2(): Promise<(user: string) => Promise<Http2Answer>> {
  const session = await openHttp2(site);
  after(() => session.destroy());
  return (user) => http2Exchange(session, http2Headers('GET', pods('m1'), ['authorization', `Bearer ${user}-token`]));
}

test('a cluster that does not answer holds its own slots, and requests to another are answered', async () => {
  const stalled = holding();
  const waiting = Array.from({ length: 9 }, () => exchange(site, requestBytes(`GET ${pods('m1')}`, [bearer('small')])));
  await waitFor(() => site.members[0]!.requests.length === 3);
  const answer = await exchange(site, requestBytes(`GET ${pods('m2')}`, [bearer('big')]));
  assert.equal(answer.status, 200);
  assert.equal(site.members[0]!.requests.length, 3, 'the stalled one was asked no more');
  stalled.release();
  assert.ok((await Promise.all(waiting)).every(({ status }) => status === 200));
});

test('a client that leaves while it waits is never sent to the cluster', async () => {
  const member = holding();
  const first = [1, 2, 3].map(() => exchange(site, requestBytes(`GET ${pods('m1')}`, [bearer('big')])));
  await waitFor(() => site.members[0]!.requests.length === 3);
  const leaving = await openRaw(site);
  leaving.send(requestBytes(`POST ${pods('m1')}`, [bearer('small'), 'Content-Length: 2'], '{}'));
  const waits = async (count: number): Promise<true> =>
    waitFor(async () => {
      const ready = await exchange(site, requestBytes('GET /readyz?verbose', [bearer('third')]));
      return ready.body.includes(`, ${count} waiting`);
    });
  await waits(1);
  leaving.close();
  await waits(0);
  member.release();
  assert.ok((await Promise.all(first)).every(({ status }) => status === 200));
  assert.ok(!order().includes('small'));
});

test('a user opens so many watches and upgrades and no more, is told with a Status, and others are not in its way', async () => {
  const member = holding();
  const watch = requestBytes(`GET ${pods('m1')}?watch=1`, [bearer('big')]);
  const exec = (user: string): string =>
    requestBytes(`GET ${pods('m1')}/web/exec?command=sh`, [bearer(user), ...upgradeLines('websocket')]);
  const open = [await openRaw(site), await openRaw(site)];
  open.forEach((client, index) => client.send(index === 0 ? watch : exec('big')));
  await waitFor(() => site.members[0]!.requests.length === 2);
  const refusedWatch = await exchange(site, watch);
  const refusedExec = await exchange(site, exec('big'));
  for (const answer of [refusedWatch, refusedExec]) {
    assert.equal(answer.status, 429);
    assert.deepEqual(answer.values('retry-after'), ['1']);
    const status = JSON.parse(answer.body) as { reason: string; message: string; details: object };
    assert.equal(status.reason, 'TooManyRequests');
    assert.match(status.message, /too many streams of this user are open \(2\)/);
    assert.deepEqual(status.details, { retryAfterSeconds: 1 });
  }
  const other = await openRaw(site);
  other.send(exec('small'));
  await waitFor(() => site.members[0]!.requests.length === 3);
  for (const client of [...open, other]) client.close();
  member.release();
});

test('health is answered while nothing else has a slot', async () => {
  const member = holding();
  const taken = [1, 2, 3].map(() => exchange(site, requestBytes(`GET ${pods('m1')}`, [bearer('big')])));
  await waitFor(() => site.members[0]!.requests.length === 3);
  for (const path of ['/livez', '/readyz', '/healthz']) {
    assert.equal((await exchange(site, requestBytes(`GET ${path}`))).status, 200);
  }
  member.release();
  await Promise.all(taken);
});

test('metrics tell who was refused and why', async () => {
  const metrics = await (await fetch(`${site.gateway.opsUrl}/metrics`)).text();
  assert.match(metrics, /portcullis_rejected_requests_total\{reason="user-queue-full"\} 54\n/);
  assert.match(metrics, /portcullis_rejected_requests_total\{reason="streams"\} 2\n/);
  assert.match(metrics, /portcullis_queued_requests 0\n/);
});
