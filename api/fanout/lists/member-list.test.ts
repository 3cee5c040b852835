import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterSpec } from '../../../model/records.ts';
import type { MemberAnswer } from '../../../routing/members/member-call.ts';
import { MemberList } from './member-list.ts';

test('a list that is no list, or holds bytes that are no UTF-8, is a fault of its cluster that quotes nothing', async () => {
  const bad = ['{"items":["secret"]}', '{"items":{"secret":1}}', '<secret>', '{"items":[{"secret":"\xff"}]}'];
  for (const text of bad) {
    const chunks = (async function* () {
      yield Buffer.from(text, 'latin1');
    })();
    const answer = { status: 200, headers: [], chunks, cancel: () => {} } as unknown as MemberAnswer;
    const list = new MemberList({ name: 'm1' } as ClusterSpec, answer);
    await assert.rejects(list.open(), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'MEMBER_BAD_RESPONSE', text);
      assert.match(error.message, /^it sent a list that cannot be read/);
      return !error.message.includes('secret');
    });
  }
});
