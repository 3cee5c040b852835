// Cases of cluster-gateway's own proxy tests on the wire, by their numbers (docs/reference/cluster-gateway-cases.md).
// What the member sees is read from its socket, since a server that parses would mend a path before we look at it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';
import { exchange, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';

const api = '/apis/cluster.core.oam.dev/v1alpha1/clustergateways';
const tester = { token: 'tester-token', name: 'tester', uid: 'tester-uid', groups: ['group-test'] };
let site: Site;

before(async () => {
  site = await startSite({
    users: [tester],
    contexts: ([first]) => [{ ...first!, name: 'below', server: `${first!.server}/extra` }],
  });
});

after(() => site?.close());

function get(path: string): Promise<RawAnswer> {
  return exchange(site, requestBytes(`GET ${api}/${path}`, [`Authorization: Bearer ${tester.token}`]));
}

/** Request line's target, and who the member was told is asking, of the last request. */
function last(): { readonly target: string; readonly user: readonly string[]; readonly groups: readonly string[] } {
  const request = site.members[0]!.requests.at(-1)!;
  return {
    target: request.target,
    user: request.values('impersonate-user'),
    groups: request.values('impersonate-group'),
  };
}

test('a request for a cluster arrives with its path, as who asked, and the answer comes back (CG-01, CG-07)', async () => {
  site.members[0]!.answer = (request) => request.reply(200, ['Content-Type: text/plain'], 'from the member');
  const answer = await get('m1/proxy/foo');
  assert.equal(answer.status, 200);
  assert.equal(answer.body, 'from the member');
  const { target, user, groups } = last();
  assert.equal(target, '/foo');
  assert.deepEqual(user, ['tester']);
  assert.deepEqual(groups, ['group-test']);
  assert.deepEqual(site.members[0]!.requests.at(-1)!.values('impersonate-uid'), ['tester-uid']);
});

test('an unknown cluster is 404 as a Status, and nothing goes upstream (CG-02)', async () => {
  const before = site.upstream();
  const answer = await get('nobody/proxy/foo');
  assert.equal(answer.status, 404);
  const { kind, reason, message } = JSON.parse(answer.body) as Readonly<Record<string, string>>;
  assert.deepEqual([kind, reason], ['Status', 'NotFound']);
  assert.match(message!, /"nobody" not found/);
  assert.equal(site.upstream(), before);
});

test('the path of an endpoint goes in front (CG-03)', async () => {
  assert.equal((await get('below/proxy/foo')).status, 200);
  assert.equal(last().target, '/extra/foo');
  assert.equal((await get('below/proxy/foo/')).status, 200);
  assert.equal(last().target, '/extra/foo/');
});

test('a query arrives byte for byte, every dryRun of it, and nothing is renamed (CG-04)', async () => {
  for (const query of [
    'dryRun=All&fieldValidation=Strict',
    'dryRun=All&dryRun=All',
    '__dryRun=All',
    'impersonate=true',
  ]) {
    assert.equal((await get(`m1/proxy/foo?${query}`)).status, 200);
    assert.equal(last().target, `/foo?${query}`);
    assert.deepEqual(last().user, ['tester']);
  }
});
