import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Attributes } from '../../../auth/rules/attributes.ts';
import { makeUser } from '../../../model/user.ts';
import { readConnection } from '../connection.ts';
import type { GoRequest } from '../oracle.ts';
import { keptRequests, playCase, runRequests, startBench } from './campaign.ts';
import type { RequestBench } from './campaign.ts';
import { faultOf } from './judge.ts';
import type { Played } from './judge.ts';

let bench: RequestBench;

before(async () => {
  bench = await startBench(undefined);
});
after(() => bench.close());

test('every kept request is answered, or refused with a Status, and whoever asks behind it is served as themselves', async () => {
  const kept = keptRequests();
  assert.ok(kept.length >= 5);
  for (const one of kept) await playCase(bench, one);
});

test('a hundred new requests of a fixed seed over both protocols, without Go', async () => {
  const { findings, cases } = await runRequests(bench, { seed: 64, cases: 100, untilMs: Number.POSITIVE_INFINITY });
  assert.deepEqual(findings, []);
  assert.equal(cases, 100);
});

const asked: Attributes = {
  user: makeUser({ name: 'alice', groups: ['system:authenticated'] }),
  verb: 'get',
  cluster: { name: 'm1', uid: '', labels: {} },
  resourceRequest: true,
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'a',
  name: 'b',
  path: '',
};
const went: GoRequest = {
  method: 'GET',
  target: '/api/v1/namespaces/a/pods/b',
  path: '/api/v1/namespaces/a/pods/b',
  host: 'member:1',
  headers: { Authorization: ['Bearer own'], 'Impersonate-User': ['alice'] },
  body: '',
  info: {
    isResource: true,
    verb: 'get',
    apiGroup: '',
    apiVersion: 'v1',
    namespace: 'a',
    resource: 'pods',
    subresource: '',
    name: 'b',
    parts: ['pods', 'b'],
  },
  user: { name: 'alice', uid: '', groups: ['system:authenticated'], extra: {} },
};

test('a watch over all clusters goes on, and is no request without an answer; a list that gives nothing more is one', () => {
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  const of = (target: string, rest: string): string => {
    const bytes = `GET ${target} HTTP/1.1\r\nHost: gateway.test\r\n\r\n`;
    const read = readConnection(Buffer.from(bytes));
    const played: Played = {
      sent: { protocol: '1', bytes, pieces: 1 },
      outcome: { read, answers: [], late: true, rest },
      record: { questions: [], identities: [], segments: [], errors: [] },
      witnessed: '200 witness',
      verdicts: [],
    };
    return faultOf(played, { port: 0, ca: '', members: {}, take: () => played.record, close: () => undefined }) ?? '';
  };
  assert.equal(of('/clusters/*/proxy/api/v1/pods?watch=1', head), '');
  assert.match(of('/clusters/*/proxy/api/v1/pods?watch=1', ''), /0 of 1 answers came, then nothing/);
  assert.match(of('/clusters/*/proxy/api/v1/pods', head), /0 of 1 answers came, then nothing/);
  assert.match(of('/clusters/m1/proxy/api/v1/pods?watch=1', head), /0 of 1 answers came, then nothing/);
});

/** What is said of a request that was judged as `asked` and went out as `went`, each but for a change. */
function reported(change: Partial<GoRequest>, question: Partial<Attributes> = {}, requests = 1): string {
  const user = asked.user;
  const bytes = `GET /clusters/m1/proxy${went.target} HTTP/1.1\r\n`;
  const played: Played = {
    sent: { protocol: '1', bytes, pieces: 1 },
    outcome: { read: { requests: [], ending: 'refused' }, answers: [], late: false, rest: '' },
    record: {
      questions: [{ ...asked, ...question }],
      identities: [{ user, outgoing: user }],
      segments: [{ cluster: 'm1', bytes: Buffer.alloc(0), requests, early: 0 }],
      errors: [],
    },
    witnessed: '200 witness',
    verdicts: [{ requests: Array.from({ length: requests }, () => ({ ...went, ...change })) }],
  };
  const members = { m1: { host: 'member:1', authorization: 'Bearer own' } };
  return faultOf(played, { port: 0, ca: '', members, take: () => played.record, close: () => undefined }) ?? '';
}

test('a request that goes out as another one than was judged is a finding: user, verb, name, cluster, credential, one more', () => {
  assert.equal(reported({}), '');
  const other = { ...went.user, name: 'root' };
  assert.match(reported({ user: other }), /the user is .*alice.* to us and .*root.* to the member/);
  assert.match(reported({ user: { ...went.user, groups: ['system:masters'] } }), /the user is/);
  assert.match(reported({ user: { ...went.user, name: 'the credential itself' } }), /without an identity/);
  assert.match(reported({ info: { ...went.info, verb: 'watch' } }), /verb is "get" to us and "watch" to Go/);
  assert.match(reported({ info: { ...went.info, name: 'c' } }), /name is "b" to us and "c" to Go/);
  assert.match(reported({ info: { ...went.info, subresource: 'exec' } }), /subresource is/);
  assert.match(reported({}, { cluster: { name: 'm2', uid: '', labels: {} } }), /nobody was asked about/);
  assert.match(reported({ headers: { Authorization: ['Bearer alice-token'] } }), /Authorization is/);
  assert.match(reported({ headers: { ...went.headers, 'X-Remote-User': ['root'] } }), /X-Remote-User went out/);
  assert.match(reported({ target: '/api/v1/secrets' }), /none the client sent/);
  assert.match(reported({}, {}, 2), /2 requests went upstream, and 1 were let through/);
});
