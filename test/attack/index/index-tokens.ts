// Continue tokens of the index and of the fan-out, replayed, cut, changed and made up. A token says where a list goes
// on, never what may be seen there, so rights are those of the page's own moment.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUser } from '../../../model/user.ts';
import { writeToken } from '../../../api/fanout/lists/tokens.ts';
import { binding } from '../../integration/index/index-site.ts';
import type { Answer, IndexedList } from '../../integration/index/index-site.ts';
import { clusterAnnotation, collections, index, proxy, resources } from './index-world.ts';
import type { IndexWorld } from './index-world.ts';

const list = `${proxy}/api/v1/configmaps?labelSelector=mine&limit=2`;
const refused = /the continue token is not valid for this list and this user/;

/** The tests of this file. */
export function tokenTests(world: () => IndexWorld): void {
  const ask = (path: string, user = 'admin', headers = {}): Promise<Answer> => world().ask(path, user, { headers });
  const page = async (path: string, user = 'admin'): Promise<IndexedList> => {
    const answer = await ask(path, user);
    assert.equal(answer.status, 200, answer.text);
    return answer.json<IndexedList>();
  };
  const names = ({ items }: IndexedList): string[] =>
    items.map(({ metadata }) => `${metadata.annotations![clusterAnnotation]}/${metadata.namespace}/${metadata.name}`);

  describe('continue tokens', () => {
    test('a token of the index is good for its user, its question and its bytes alone; every refusal is the same words (ATT-26)', async () => {
      const token = (await page(list)).metadata.continue!;
      const reported = new Set<string>();
      const refuse = async (path: string, user = 'admin', headers = {}): Promise<void> => {
        const answer = await ask(path, user, headers);
        assert.equal(answer.status, 400, `${path}: ${answer.text}`);
        reported.add(answer.text);
      };
      for (const user of ['walled', 'bare']) await refuse(`${list}&continue=${token}`, user);
      await refuse(`${list}&continue=${token}`, 'boss', { 'impersonate-user': 'bare' });
      for (const path of [
        `${proxy}/api/v1/configmaps?limit=2`,
        `${list}&namespaces=shop`,
        `${list}&orderby=name`,
        `${list}&clusters=beta`,
        `${list}&filter=name%3Done`,
        `${list}&text=o`,
        `${proxy}/clusters/alpha/api/v1/configmaps?labelSelector=mine&limit=2`,
        `${proxy}/api/v1/namespaces/shop/configmaps?labelSelector=mine&limit=2`,
        `${proxy}/api/v1/namespaces?limit=2`,
        `${collections}/any?resources=/v1/configmaps,/v1/namespaces&limit=2`,
      ]) {
        await refuse(`${path}&continue=${token}`);
      }
      for (let at = 3; at < token.length; at += 7) {
        const other = token[at] === 'A' ? 'B' : 'A';
        await refuse(`${list}&continue=${token.slice(0, at)}${other}${token.slice(at + 1)}`);
        await refuse(`${list}&continue=${token.slice(0, at)}`);
      }
      for (const made of [
        'p1.',
        'p1.AAAA',
        `${token}A`,
        `${token}%3D`,
        `${token}%20x`,
        `${token}%00`,
        `p1.${'A'.repeat(2000)}`,
      ])
        await refuse(`${list}&continue=${made}`);
      assert.equal(reported.size, 1);
      assert.match([...reported][0]!, refused);

      // The same user and question in another spelling, on the other path, is the same list.
      const again = await page(`${resources}/api/v1/configmaps?continue=${token}&limit=2&labelSelector=%20mine`);
      assert.deepEqual(names(again), names(await page(`${list}&continue=${token}`)));
      const posted = { resource: ['configmaps.v1.'], labelSelector: 'mine', limit: 2, continue: `${token}x` };
      assert.equal((await world().ask(`${index}/query`, 'admin', { method: 'POST', body: posted })).status, 400);
    });

    test('a token holds no name that can be read (ATT-26)', async () => {
      const token = (await page(list)).metadata.continue!;
      const bytes = Buffer.from(token.slice(3), 'base64url');
      for (const text of ['alpha', 'shop', 'one', 'ops', 'three'])
        for (const encoding of ['utf8', 'utf16le'] as const)
          assert.ok(!bytes.includes(Buffer.from(text, encoding)), text);
    });

    test('after rights were taken away a token shows nothing that may no longer be seen (ATT-26)', async () => {
      const roles = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
      await world().change('beta', roles, { method: 'POST', body: binding('bare-for-now', 'cluster-admin', 'bare') });
      const isSeen = async (): Promise<boolean> => names(await page(list.replace('&limit=2', ''), 'bare')).length > 3;
      while (!(await isSeen())) await new Promise((resolve) => setTimeout(resolve, 20));
      const first = await page(`${list}&withRemainingCount`, 'bare');
      const token = first.metadata.continue!;
      const before = await page(`${list.replace('limit=2', 'limit=50')}&continue=${token}`, 'bare');
      assert.ok(names(before).some((name) => name.startsWith('beta/')));
      await world().change('beta', `${roles}/bare-for-now`, { method: 'DELETE' });
      while (await isSeen()) await new Promise((resolve) => setTimeout(resolve, 20));
      const after = await page(`${list.replace('limit=2', 'limit=50')}&continue=${token}&withRemainingCount`, 'bare');
      assert.deepEqual(names(after), ['alpha/shop/two']);
      assert.equal(after.metadata.continue, undefined);
      assert.equal(after.metadata.remainingItemCount ?? 0, 0);
    });

    test('offsets and limits that are none, or beyond what is served, are 400 and never an error of ours (ATT-26)', async () => {
      for (const offset of [
        '-1',
        '100001',
        '999999999999999',
        '1e3',
        '0x10',
        '1.5',
        '1%3B',
        '%2B-1',
        'NaN',
        'Infinity',
        '9'.repeat(400),
        '%D9%A1',
        "1'--",
        'p2.AAAA',
      ]) {
        const answer = await ask(`${list}&continue=${offset}`);
        assert.equal(answer.status, 400, `${offset}: ${answer.text}`);
        const labelled = `${proxy}/api/v1/configmaps?limit=2&labelSelector=search.clusterpedia.io/offset%3D${offset}`;
        assert.equal((await ask(labelled)).status, 400, offset);
      }
      assert.deepEqual((await page(`${list}&continue=100000`)).items, []);
      for (const limit of ['1e3', '1.5', 'x', '9'.repeat(30), '%00'])
        assert.equal((await ask(`${list.replace('limit=2', `limit=${limit}`)}`)).status, 400, limit);
    });

    test('a token of a request to all clusters names a cluster only to those who may reach it, whoever made the token (ATT-26)', async () => {
      const path = '/api/v1/namespaces/shop/configmaps';
      const target = `/clusters/*/proxy${path}`;
      const first = await page(`${target}?limit=2`, 'walled');
      const own = first.metadata.continue!;
      assert.deepEqual(names(await page(`${target}?limit=2&continue=${own}`, 'walled')), ['alpha/shop/two']);
      for (const user of ['admin', 'bare']) {
        const theirs = (await page(`${target}?limit=2`, user)).metadata.continue!;
        assert.equal((await ask(`${target}?limit=2&continue=${theirs}`, 'walled')).status, 400);
      }
      for (let at = 0; at < own.length; at += 9) {
        const other = own[at] === 'A' ? 'B' : 'A';
        const answer = await ask(
          `${target}?limit=2&continue=${own.slice(0, at)}${other}${own.slice(at + 1)}`,
          'walled',
        );
        assert.equal(answer.status, 400, answer.text);
      }
      assert.equal((await ask(`${target}?limit=2&labelSelector=mine&continue=${own}`, 'walled')).status, 400);

      // The digest in it is no secret: a token that is made up well chooses among the clusters one may reach, and no
      // others.
      const walled = makeUser({ name: 'walled' });
      const [, , registration = '', memberToken = '', version = ''] = JSON.parse(
        Buffer.from(own, 'base64url').toString('utf8'),
      ) as string[];
      const answers: string[] = [];
      for (const cluster of ['beta', 'bnta']) {
        for (const position of [
          { cluster, registration, memberToken, version },
          { cluster, registration: '00000000', memberToken: '', version },
          {
            cluster,
            registration,
            memberToken,
            version: Buffer.from(`{"${cluster}":"1.00000000"}`).toString('base64url'),
          },
        ]) {
          const token = writeToken(position, { user: walled, path, query: '' });
          const { status, headers, text } = await ask(`${target}?limit=2&continue=${token}`, 'walled');
          const said = `${status} ${headers['warning']} ${text}`.replaceAll(position.version, 'version');
          assert.notEqual(status, 500);
          assert.doesNotMatch(said, /"items":\[\{/);
          answers.push(said.replaceAll(cluster, 'cluster'));
        }
      }
      assert.deepEqual(answers.slice(0, 3), answers.slice(3));
    });
  });
}
