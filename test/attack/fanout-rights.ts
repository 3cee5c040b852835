// Rights behind the star, with a hub that decides: a grant on the name `*` lets a request for every cluster begin and
// opens no cluster. An answer that names a cluster only in an error, a Warning or a version names it all the same. Run
// by test/integration/fanout.test.ts: a process of its own would load the whole gateway once more.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { startPretendHub } from '../site/hub.ts';
import type { PretendHub, ReviewSpec } from '../site/hub.ts';
import { exchange, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

let hub: PretendHub;
let site: Site;

/** The hub lets these names of clusters through. */
function allow(...names: readonly string[]): void {
  hub.access = ({ resourceAttributes }: ReviewSpec) => ({
    allowed: names.includes(resourceAttributes?.['name'] ?? ''),
  });
}

let turn = 0;
/** Each question is of a user nobody has asked about yet, so no remembered decision answers it. */
function list(path = '/clusters/*/proxy/api/v1/pods', user = turn++): Promise<RawAnswer> {
  return exchange(site, requestBytes(`GET ${path}`, [`Authorization: Bearer token-${user}`]));
}

/** The tests of this file. */
export function rightsTests(): void {
  describe('rights behind the star', () => {
    before(async () => {
      hub = await startPretendHub({});
      const users = Array.from({ length: 9 }, (_, i) => ({ token: `token-${i}`, name: `user-${i}` }));
      site = await startSite({
        members: 2,
        users,
        config: { hubKubeconfig: hub.kubeconfig, sources: 'kubeconfig', apiAudiences: 'portcullis' },
      });
    });
    after(() => {
      site.close();
      hub.close();
    });
    beforeEach(() => {
      hub.reviews.splice(0);
      for (const member of site.members) {
        member.requests.length = 0;
        member.answer = (request) =>
          request.reply(
            200,
            ['Content-Type: application/json'],
            '{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"1"}}',
          );
      }
    });

    test('a watch of every cluster begins with a list, so a right to watch alone opens no cluster', async (t) => {
      const subjects = [{ kind: 'User', name: 'alice' }] as const;
      for (const [verbs, asked] of [
        [['watch'], []],
        [['list'], []],
        [['list', 'watch'], ['GET']],
      ] as const) {
        const rules = [{ subjects, verbs, apiGroups: [''], resources: ['secrets'] }];
        const users = [{ token: 'alice-token', name: 'alice' }];
        const own = await startSite({ members: 1, users, rules });
        t.after(() => own.close());
        const member = own.members[0]!;
        member.answer = (request) => request.reply(403, ['Content-Type: application/json'], '{"kind":"Status"}');
        const path = '/clusters/*/proxy/api/v1/secrets?watch=true&timeoutSeconds=1';
        await exchange(own, requestBytes(`GET ${path}`, ['Authorization: Bearer alice-token']));
        assert.deepEqual([...new Set(member.requests.map(({ method }) => method))], asked, verbs.join());
      }
    });

    test('a grant on the star without a grant on any cluster gives nothing and asks nobody', async () => {
      allow('*');
      const answer = await list();
      assert.equal(answer.status, 200);
      assert.deepEqual((JSON.parse(answer.body) as { items: unknown[] }).items, []);
      assert.doesNotMatch(answer.head + answer.body, /\bm[12]\b/);
      assert.equal(site.upstream(), 0);
      const asked = hub.reviews.map(({ resourceAttributes }) => resourceAttributes);
      assert.deepEqual(
        asked.map((attributes) => [
          attributes?.['resource'],
          attributes?.['subresource'],
          attributes?.['verb'],
          attributes?.['name'],
        ]),
        ['*', 'm1', 'm2'].map((name) => ['clusters', 'proxy', 'list', name]),
      );
    });

    test('grants on clusters without the star permit no request for every cluster', async () => {
      allow('m1', 'm2');
      const answer = await list();
      assert.equal(answer.status, 403);
      assert.equal(site.upstream(), 0);
    });

    test('only clusters that are granted by name are asked, in every spelling of the star and through both paths', async () => {
      allow('*', 'm2');
      for (const path of ['/clusters/*', '/clusters/%2A', '/apis/gateway.portcullis.io/v1alpha1/clusters/*']) {
        const answer = await list(`${path}/proxy/api/v1/pods`);
        assert.equal(answer.status, 200);
        const { items, metadata } = JSON.parse(answer.body) as {
          items: unknown[];
          metadata: { resourceVersion: string };
        };
        assert.equal(items.length, 1);
        assert.doesNotMatch(
          answer.head + answer.body + Buffer.from(metadata.resourceVersion, 'base64url').toString(),
          /m1/,
        );
      }
      assert.equal(site.members[0]!.requests.length, 0);
    });

    test('a watch that claims the version of a cluster one may not reach is told no more than that it is too old', async () => {
      allow('*', 'm2');
      const claim = (cluster: string): string =>
        Buffer.from(JSON.stringify({ [cluster]: '1.00000000' })).toString('base64url');
      const user = turn++;
      const hidden = await list(`/clusters/*/proxy/api/v1/pods?watch=true&resourceVersion=${claim('m1')}`, user);
      const unknown = await list(`/clusters/*/proxy/api/v1/pods?watch=true&resourceVersion=${claim('m9')}`, user);
      assert.equal(hidden.status, 410);
      assert.equal(hidden.body, unknown.body);
      assert.equal(site.upstream(), 0);
    });

    test('a hub that cannot be asked gives no answer at all, not a part of one', async () => {
      hub.access = () => {
        hub.down();
        return { allowed: true };
      };
      try {
        const answer = await list();
        assert.equal(answer.status, 503);
        assert.doesNotMatch(answer.head + answer.body, /\bm[12]\b/);
        assert.equal(site.upstream(), 0);
      } finally {
        hub.up();
      }
    });
  });
}
