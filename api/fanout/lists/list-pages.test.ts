import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import { makeUser } from '../../../model/user.ts';
import type { MemberAnswer } from '../../../routing/members/member-call.ts';
import type { AnswerWriter } from '../members/answer-writer.ts';
import type { ListParts } from './list-answer.ts';
import { answerPage } from './list-pages.ts';
import type { FanoutMembers } from '../members/members.ts';
import { readFanoutQuery } from '../members/query.ts';

/** A fake member: its objects, and its answer to the n-th question. */
interface Pretend {
  readonly objects: readonly string[];
  readonly fault?: (asked: number) => 'none' | 'refuses' | 'breaks off' | 'expired';
}

interface Page {
  readonly items: { readonly metadata: { readonly name: string } }[];
  readonly metadata: { readonly continue?: string; readonly resourceVersion: string };
}

/** Clusters by name with their objects; pages are asked for as a client would. */
function makePages(pretends: ReadonlyMap<string, Pretend>): {
  page(limit: number, token?: string): Promise<{ page: Page; headers: readonly string[] }>;
  readonly asked: string[];
} {
  const clusters = [...pretends.keys()].map(
    (name) => ({ name, uid: `${name}-0000000`, labels: {} }) as unknown as ClusterSpec,
  );
  const asked: string[] = [];
  const ask: FanoutMembers['ask'] = async ({ name }, { path, signal }) => {
    signal.throwIfAborted();
    const { objects, fault } = pretends.get(name)!;
    const before = asked.filter((one) => one === name).length;
    asked.push(name);
    const doing = fault?.(before) ?? 'none';
    if (doing === 'refuses') throw new GatewayError('MEMBER_REFUSED', 'connection refused', { cluster: name });
    const query = new URL(path, 'https://m').searchParams;
    const from = Number(query.get('continue') ?? 0);
    const end = Math.min(from + Number(query.get('limit')), objects.length);
    const items = objects.slice(from, end).map((object) => `{"metadata":{"name":"${object}"}}`);
    const metadata = JSON.stringify({
      resourceVersion: '1',
      ...(end < objects.length ? { continue: String(end) } : {}),
    });
    const body = `{"kind":"XList","apiVersion":"v1","items":[${items.join()}],"metadata":${metadata}}`;
    async function* chunks(): AsyncGenerator<Buffer> {
      if (doing === 'breaks off') {
        yield Buffer.from(body.slice(0, body.indexOf('[') + 1));
        throw new GatewayError('MEMBER_UNAVAILABLE', 'cut', { cluster: name });
      }
      if (doing === 'expired') yield Buffer.from('{"kind":"Status","reason":"Expired","message":"too old"}');
      else yield Buffer.from(body);
    }
    const answer: MemberAnswer = {
      status: doing === 'expired' ? 410 : 200,
      headers: [],
      chunks: chunks(),
      cancel() {},
    };
    return answer;
  };
  const members = { ask } as unknown as FanoutMembers;
  return {
    asked,
    async page(limit, token = '') {
      let text = '';
      let headers: readonly string[] = [];
      const writer: AnswerWriter = {
        signal: new AbortController().signal,
        head: (_status, sent = []) => (headers = sent),
        write: async (bytes) => void (text += bytes.toString()),
        end() {},
        close() {},
      };
      const query = readFanoutQuery(`?limit=${limit}&continue=${token}`);
      const state = { user: makeUser({ name: 'alice' }), headers: [] } as unknown as ListParts['state'];
      await answerPage({ state, members, writer, query, path: '/api/v1/xs' }, clusters, limit);
      return { page: JSON.parse(text) as Page, headers };
    },
  };
}

/** All pages: names in order, and the warnings of each. */
async function allPages(
  pages: ReturnType<typeof makePages>,
  limit: number,
): Promise<{ names: string[]; warnings: string[] }> {
  const names: string[] = [];
  const warnings: string[] = [];
  let token: string | undefined = '';
  for (let i = 0; token !== undefined; i += 1) {
    assert.ok(i < 1_000, 'the pages come to an end');
    const { page, headers }: Awaited<ReturnType<typeof pages.page>> = await pages.page(limit, token);
    assert.ok(page.items.length <= limit);
    names.push(...page.items.map(({ metadata }) => metadata.name));
    warnings.push(...headers.filter((_, at) => at % 2 === 1));
    token = page.metadata.continue;
  }
  return { names, warnings };
}

const objectsOf = (cluster: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${cluster}-${i}`);
const nameOf = (i: number): string => `c${String(i).padStart(2, '0')}`;

describe('pages of many clusters', () => {
  it('hold every object once and in order, whatever the sizes and limits', async () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
    for (let round = 0; round < 8; round += 1) {
      const pretends = new Map(
        Array.from({ length: 1 + random(40) }, (_, i) => {
          const objects = objectsOf(nameOf(i), random(3) === 0 ? 0 : random(12));
          return [nameOf(i), { objects }];
        }),
      );
      const expected = [...pretends.values()].flatMap(({ objects }) => objects);
      const { names, warnings } = await allPages(makePages(pretends), 1 + random(30));
      assert.deepEqual(names, expected);
      assert.deepEqual(warnings, []);
    }
  });

  it('end early at a cluster that fails behind the head, and the next page names it', async () => {
    const pretends = new Map<string, Pretend>(
      Array.from({ length: 20 }, (_, i) => [
        nameOf(i),
        { objects: objectsOf(nameOf(i), 2), ...(i === 12 ? { fault: () => 'refuses' as const } : {}) },
      ]),
    );
    const { names, warnings } = await allPages(makePages(pretends), 100);
    assert.equal(names.length, 38);
    assert.deepEqual(warnings, ['299 - "cluster c12: connection refused"']);
  });

  it('ask again when an answer that was asked for ahead breaks off or does not fit', async () => {
    const pretends = new Map<string, Pretend>([
      ['a', { objects: objectsOf('a', 3) }],
      ['b', { objects: objectsOf('b', 9), fault: (asked) => (asked === 0 ? 'breaks off' : 'none') }],
      ['c', { objects: objectsOf('c', 9) }],
    ]);
    const { names } = await allPages(makePages(pretends), 10);
    assert.deepEqual(
      names,
      [...pretends.values()].flatMap(({ objects }) => objects),
    );
  });

  it('begin again when a member has forgotten its token', async () => {
    const pretends = new Map<string, Pretend>([
      ['a', { objects: objectsOf('a', 9), fault: (asked) => (asked === 1 ? 'expired' : 'none') }],
    ]);
    const pages = makePages(pretends);
    const { page } = await pages.page(5);
    await assert.rejects(pages.page(5, page.metadata.continue), { code: 'EXPIRED' });
  });

  it('ask nobody else while a large cluster fills them', async () => {
    const pretends = new Map<string, Pretend>([
      ['a', { objects: objectsOf('a', 50) }],
      ['b', { objects: objectsOf('b', 1) }],
    ]);
    const pages = makePages(pretends);
    const first = await pages.page(10);
    pages.asked.length = 0;
    await pages.page(10, first.page.metadata.continue);
    assert.deepEqual(pages.asked, ['a']);
  });
});
