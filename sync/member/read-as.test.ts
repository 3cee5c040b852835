import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import { ownCredential } from './sync-types.ts';
import { makeReader, mendCommand } from './read-as.ts';
import type { AskMember, MemberQuestion } from './sync-types.ts';

const question: MemberQuestion = { path: '/api/v1/pods', headTimeoutMs: 1, signal: new AbortController().signal };

interface Way {
  readonly ask: AskMember;
  status: number | 'unreachable';
  asked: number;
  cancelled: number;
}

function way(status: Way['status']): Way {
  const made: Way = {
    status,
    asked: 0,
    cancelled: 0,
    async ask() {
      made.asked += 1;
      if (made.status === 'unreachable') throw new Error('unreachable');
      const cancel = (): void => void (made.cancelled += 1);
      return { status: made.status, headers: [], chunks: none(), cancel } satisfies MemberAnswer;
    },
  };
  return made;
}

async function* none(): AsyncGenerator<Buffer> {}

describe('a reader of a member', () => {
  it('asks as portcullis:index, and as the gateway what that is refused, from then on first', async () => {
    const [first, gateway] = [way(403), way(200)];
    const reader = makeReader({ ask: first.ask, askAsGateway: gateway.ask });
    assert.equal(reader.as(), 'portcullis:index');
    assert.equal((await reader.ask(question)).status, 200);
    assert.equal(reader.as(), ownCredential);
    assert.equal(first.cancelled, 1, 'the refusal is not left open');
    await reader.ask(question);
    assert.deepEqual([first.asked, gateway.asked], [1, 2]);
  });

  it('goes back to portcullis:index when that may do everything that is asked, and not before', async () => {
    const [first, gateway] = [way(403), way(200)];
    const reader = makeReader({ ask: first.ask, askAsGateway: gateway.ask });
    await reader.ask(question);
    assert.equal(await reader.comesBack([question, question]), false);
    assert.equal(reader.as(), ownCredential);
    first.status = 200;
    assert.equal(await reader.comesBack([question, question]), true);
    assert.equal(reader.as(), 'portcullis:index');
    assert.equal(first.cancelled, 4);
    assert.equal(await reader.comesBack([question]), false, 'it is there already');
  });

  it('says when a right was withdrawn, and not when there never was one', async () => {
    const [first, gateway] = [way(200), way(200)];
    let shown = 0;
    const reader = makeReader({ ask: first.ask, askAsGateway: gateway.ask }, () => void (shown += 1));
    await reader.ask(question);
    first.status = 403;
    await reader.ask(question);
    assert.deepEqual([reader.as(), shown], [ownCredential, 1]);
    const never = makeReader({ ask: first.ask, askAsGateway: gateway.ask }, () => void (shown += 1));
    await never.ask(question);
    assert.deepEqual([never.as(), shown], [ownCredential, 1]);
  });

  it('stays with portcullis:index where the gateway is refused, too, or fails, and says who was refused', async () => {
    for (const status of [403, 503, 'unreachable'] as const) {
      const reader = makeReader({ ask: way(403).ask, askAsGateway: way(status).ask });
      const answer = await reader.ask(question);
      assert.deepEqual([answer.status, answer.refusedTo], [403, `portcullis:index and to ${ownCredential}`]);
      assert.equal(reader.as(), 'portcullis:index');
    }
  });

  it('never asks as somebody that was not chosen', async () => {
    const forced = makeReader({ ask: way(403).ask });
    assert.equal((await forced.ask(question)).refusedTo, 'portcullis:index');
    assert.equal(forced.as(), 'portcullis:index');
    const self = makeReader({ ask: way(403).ask, as: ownCredential });
    assert.equal((await self.ask(question)).refusedTo, ownCredential);
    assert.equal(await self.comesBack([question]), false);
  });
});

it('the command that mends is one a shell reads as it is meant', () => {
  assert.equal(mendCommand('m1'), 'portcullis generate member-access --index --apply --context m1');
  assert.equal(
    mendCommand("it's", ['pods', '*.apps']),
    String.raw`portcullis generate member-access --index --index-resources 'pods,*.apps' --apply --context 'it'\''s'`,
  );
});
