// A member cluster whose API server answers what none of Kubernetes answers. The rest of its type must be copied all
// the same, and no other cluster may notice.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readIncarnation } from '../member/incarnation.ts';
import { makeGate, makeSharedGate } from '../../lib/concurrency/gates.ts';
import { fill, lists, pods, site, timing, type, until } from './follow.fixture.ts';
import type { FakeMember } from '../fake-member.fixture.ts';
import type { FakeStore } from '../fake-store.fixture.ts';
import type { AskMember } from '../member/sync-types.ts';
import type { Follower } from './follow.ts';

/** A line of a watch: an object has changed. */
const changed =
  '{"type":"MODIFIED","object":{"metadata":{"name":"p0","namespace":"a","uid":"u1","resourceVersion":"101"}}}\n';

/** resourceVersions that PostgreSQL cannot store in a position, or that make it grow without bound. */
const odd = ['1\0', '7'.repeat(10_000), 'x\ud800'];

/** Makes the store refuse what PostgreSQL has no text for. */
function refuseNul(store: FakeStore): void {
  store.gate = async ({ position, incarnation }) => {
    const texts = [position?.resourceVersion, position?.resume, incarnation.id];
    if (texts.some((text) => text?.includes('\0'))) throw new Error('invalid byte sequence');
  };
}

describe('a member that is hostile', () => {
  for (const version of odd) {
    const shown = JSON.stringify(version).slice(0, 12);
    const json = JSON.stringify(version);

    it(`freezes no type by an object with the resourceVersion ${shown}`, async (t) => {
      const { member, store, start } = site(t);
      refuseNul(store);
      fill(member, 2);
      const follower = await start();
      await until(() => assert.equal(member.watches, 1));
      const said = `{"metadata":{"name":"odd","namespace":"a","uid":"u","resourceVersion":${json}}}`;
      member.say(pods, `{"type":"ADDED","object":${said}}`);
      member.put(pods, { namespace: 'a', name: 'later' });
      await until(() => assert.deepEqual(Object.keys(store.rows(type)), ['a/later', 'a/p0', 'a/p1']));
      const { fault, leftOut } = follower.state();
      assert.deepEqual([fault, leftOut?.count], [undefined, 1]);
      assert.match(leftOut!.example, /^a\/odd \(its resourceVersion is none of an API server\)$/);
      member.remove(pods, { namespace: 'a', name: 'p0' });
      await until(() => assert.deepEqual(Object.keys(store.rows(type)), ['a/later', 'a/p1']));
    });

    it(`freezes no type by a bookmark or a list with the resourceVersion ${shown}`, async (t) => {
      const { member, store, start, agree } = site(t);
      refuseNul(store);
      fill(member, 2);
      const follower = await start();
      await until(() => assert.equal(member.watches, 1));
      member.say(pods, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":${json}}}}`);
      member.put(pods, { namespace: 'a', name: 'later' });
      await agree();
      await until(() => assert.equal(follower.state().phase, 'watching'));
      const { ask } = member;
      async function* chunks(): AsyncGenerator<Buffer> {
        yield Buffer.from(`{"metadata":{"resourceVersion":${json}},"items":[]}`);
      }
      const second = await start({
        listsAnew: true,
        ask: (question) =>
          question.path.includes('watch=')
            ? ask(question)
            : Promise.resolve({ status: 200, headers: [], chunks: chunks(), cancel: () => undefined }),
      });
      await until(() => assert.equal(second.state().fault?.reason, 'Malformed'));
      assert.equal(Object.keys(store.rows(type)).length, 3, 'a list that is not usable deletes nothing');
    });
  }

  it('cannot have a uid of its kube-system Namespace with which no row could be stored (ATT-65)', async () => {
    for (const uid of ['', 'u\0', 'a/b', 'u'.repeat(3000), '\ud800', 7, null]) {
      async function* chunks(): AsyncGenerator<Buffer> {
        yield Buffer.from(JSON.stringify({ metadata: { uid } }));
      }
      const answer = { status: 200, headers: [], chunks: chunks(), cancel: () => undefined };
      const { signal } = new AbortController();
      const read = readIncarnation(async () => answer, { uid: 'r', name: 'm1' }, timing, signal);
      await assert.rejects(read, /a Namespace without UID/, JSON.stringify(uid).slice(0, 20));
    }
  });

  it('shows a fault when the pages of a list repeat, and makes no other list wait (ATT-65)', async (t) => {
    const { member, start } = site(t);
    fill(member, 1);
    let pages = 0;
    const tokens = ['a', 'b', 'c'];
    async function* page(): AsyncGenerator<Buffer> {
      pages += 1;
      const metadata = JSON.stringify({ resourceVersion: '9', continue: tokens[pages % tokens.length] });
      yield Buffer.from(`{"metadata":${metadata},"items":[]}`);
    }
    const lists = makeGate(1);
    const follower = await start({
      lists,
      timing: { ...timing, firstBackoffMs: 60_000, maxBackoffMs: 60_000 },
      ask: async () => ({ status: 200, headers: [], chunks: page(), cancel: () => undefined }),
    });
    await until(() => assert.match(follower.state().fault?.message ?? '', /a list whose pages repeat/));
    assert.ok(pages < 20, `${pages} pages`);
    assert.equal(await lists.run(new AbortController().signal, async () => 'ran'), 'ran');
  });

  it('does not keep the lists of other clusters waiting by lists without end (ATT-65)', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { signal } = new AbortController();
    const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    for (const gate of [makeGate(2), makeSharedGate(2)]) {
      const of = (cluster: string) => ('of' in gate ? gate.of(cluster) : gate);
      const { promise: never, resolve: end } = Promise.withResolvers<void>();
      const held = [1, 2, 3].map(() => of('hostile').run(signal, () => never));
      let ran = 0;
      const honest = [1, 2, 3].map(() => of('honest').run(signal, async () => void (ran += 1)));
      await settled();
      assert.equal(ran, 0);
      for (let round = 0; round < 3; round += 1) {
        t.mock.timers.tick(5 * 60_000);
        await settled();
      }
      await Promise.all(honest);
      assert.equal(ran, 3);
      end();
      await Promise.all(held);
    }
  });

  for (const [how, status] of [
    ['a status', 410],
    ['an event', undefined],
    ['an event without a code', undefined],
  ] as const) {
    it(`is listed twice, not without end, when it forgets at once what it listed, by ${how}`, async (t) => {
      const { member, start } = site(t);
      fill(member, 2);
      const code = how === 'an event' ? 410 : 0;
      member.fault = ({ path }) => (path.includes('watch=') ? status : undefined);
      let listsThen = 0;
      let follower: Follower | undefined;
      follower = await start({
        timing: { ...timing, firstBackoffMs: 200, maxBackoffMs: 400, healthyMs: 60_000 },
        ask: status === undefined ? eachWatchBegins(member.ask, errorOf(code, 'Expired')) : member.ask,
        onState() {
          if (follower?.state().phase === 'failing' && listsThen === 0) listsThen = lists(member).length;
        },
      });
      await until(() => assert.ok(listsThen > 0));
      assert.equal(listsThen, 2, 'it was told after the second');
      assert.match(
        follower.state().fault?.message ?? '',
        /^cluster "m1" answers 410 to the watch of pods right after each/,
      );
    });
  }

  it('is not current while it waits after a watch that ended as soon as it had brought an event', async (t) => {
    const { member, start } = site(t);
    fill(member, 2);
    const follower = await start({
      timing: { ...timing, firstBackoffMs: 60_000, maxBackoffMs: 60_000 },
      ask: eachWatchBegins(member.ask, changed),
    });
    await until(() => assert.match(follower.state().fault?.message ?? '', /^cluster "m1" ends every watch of pods/));
    assert.equal(follower.isCurrent(), false);
    assert.equal(watches(member).length, 1);
  });

  for (const [what, line, asked] of [
    ['listed ever more rarely when each watch begins with an error', errorOf(500, 'InternalError'), lists],
    ['watched ever more rarely when each watch ends after an event', changed, watches],
  ] as const) {
    it(`is ${what}`, async (t) => {
      const { member, start } = site(t);
      fill(member, 2);
      t.mock.timers.enable({ apis: ['setTimeout'] });
      await start({
        timing: { ...timing, firstBackoffMs: 1, maxBackoffMs: 60_000, quietMs: 60_000 },
        ask: eachWatchBegins(member.ask, line),
      });
      for (let ms = 0; ms < 100; ms += 1) {
        t.mock.timers.tick(1);
        for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
      }
      const { length } = asked(member);
      assert.ok(length >= 3 && length <= 9, `asked ${length} times in 100 ms, whose waits double from 1 ms`);
    });
  }
});

function watches(member: FakeMember): readonly string[] {
  return member.asked.filter((path) => path.includes('watch='));
}

function errorOf(code: number, reason: string): string {
  return `{"type":"ERROR","object":{"kind":"Status","code":${code},"reason":"${reason}"}}\n`;
}

/** The member, but each watch brings this line and then ends. */
function eachWatchBegins(ask: AskMember, line: string): AskMember {
  return async (question) => {
    const answer = await ask(question);
    if (!question.path.includes('watch=')) return answer;
    answer.cancel();
    async function* chunks(): AsyncGenerator<Buffer> {
      yield Buffer.from(line);
    }
    return { ...answer, chunks: chunks() };
  };
}
