// Queries that Go reads in another way than they look: what is authorized must be what the member is asked. Go's
// net/url (since 1.26) reads nothing at all of a query with more than 10,000 pairs, and Kubernetes folds letters of
// other scripts where it looks for `false`.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { exchange, openRaw, requestBytes, upgradeLines } from '../../site/raw-client.ts';
import { rawHttp2 } from '../../site/raw-http2.ts';
import { startSite } from '../../site/site.ts';
import type { Site } from '../../site/site.ts';

const member = '/clusters/m1/proxy/api/v1/namespaces/default/secrets';
const all = '/clusters/*/proxy/api/v1/namespaces/default/secrets';
const token = (name: string): string => `Authorization: Bearer ${name}-token`;
let site: Site;

before(async () => {
  const secrets = { apiGroups: [''], resources: ['secrets'] };
  site = await startSite({
    users: ['named', 'watcher', 'lister'].map((name) => ({ token: `${name}-token`, name })),
    rules: [
      { subjects: [{ kind: 'User', name: 'named' }], verbs: ['list', 'watch'], ...secrets, resourceNames: ['x'] },
      { subjects: [{ kind: 'User', name: 'watcher' }], verbs: ['watch'], ...secrets },
      { subjects: [{ kind: 'User', name: 'lister' }], verbs: ['list'], ...secrets },
    ],
  });
  site.members[0]!.answer = (request) =>
    request.reply(
      200,
      ['Content-Type: application/json'],
      '{"kind":"SecretList","apiVersion":"v1","metadata":{},"items":[]}',
    );
});
after(() => site?.close());
afterEach(() => void site.members[0]!.requests.splice(0));

async function statuses(name: string, target: string): Promise<readonly (number | string)[]> {
  const [path, authorization] = [target, token(name)];
  return [
    (await exchange(site, requestBytes(`GET ${path}`, [authorization]))).status,
    await rawHttp2(site, {
      headers: [
        [':method', 'GET'],
        [':scheme', 'https'],
        [':authority', 'gateway.test'],
        [':path', path],
        ['authorization', `Bearer ${name}-token`],
      ],
    }),
    (await exchange(site, requestBytes(`GET ${path}`, [authorization, ...upgradeLines('websocket')]))).status,
  ];
}

const selected = 'fieldSelector=metadata.name%3Dx';

test('a name that a query pins, followed by more pairs than Go reads, is refused: the member would list everything (ATT-43)', async () => {
  for (const target of [member, all]) {
    for (const query of [
      selected + '&'.repeat(10_000),
      `${'&'.repeat(10_000)}${selected}`,
      `${selected}&a=b${'&'.repeat(9_984)}&c`,
    ]) {
      assert.deepEqual(await statuses('named', `${target}?${query}`), [400, 400, 400], target);
      assert.equal(site.upstream(), 0);
    }
  }
});

test('a watch followed by more pairs than Go reads is refused: the member would list (ATT-43)', async () => {
  for (const target of [member, all]) {
    assert.deepEqual(await statuses('watcher', `${target}?watch=1${'&'.repeat(10_000)}`), [400, 400, 400], target);
    assert.equal(site.upstream(), 0);
  }
});

test('what a member is asked never has more pairs than Go reads, whatever is added on the way (ATT-43)', async () => {
  let asked = 0;
  for (const wanted of [selected, `${selected}&watch=1`]) {
    for (const extra of [9_980, 9_981, 9_982, 9_983, 9_990, 9_995, 9_997, 9_998, 9_999]) {
      const client = await openRaw(site);
      client.send(requestBytes(`GET ${all}?${wanted}${'&a'.repeat(extra)}`, [token('named')]));
      await client.answer({ headOnly: true });
      client.close();
      for (const { target } of site.members[0]!.requests.splice(0)) {
        asked += 1;
        const pairs = target.split('&').length;
        assert.ok(pairs <= 10_000, `asked with ${pairs} pairs`);
      }
    }
  }
  assert.ok(asked > 0);
});

test('many pairs within what Go reads are served as they came (ATT-43)', async () => {
  const query = `${selected}${'&'.repeat(9_000)}`;
  assert.equal((await exchange(site, requestBytes(`GET ${member}?${query}`, [token('named')]))).status, 200);
  assert.ok(site.members[0]!.requests[0]!.target.endsWith(query));
});

test('a value that is false in one reading of Kubernetes and true in another is refused (ATT-43)', async () => {
  // strings.EqualFold takes U+017F for an s, strings.ToLower does not.
  for (const value of ['fal%C5%BFe', 'FAL%c5%bfE', '%66al%C5%BFe']) {
    for (const name of ['watcher', 'lister']) {
      assert.deepEqual(await statuses(name, `${member}?watch=${value}`), [400, 400, 400], value);
      assert.equal(site.upstream(), 0);
    }
  }
});
