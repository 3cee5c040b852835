import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import type { MemberAnswer } from '../../../routing/members/member-call.ts';
import { MemberList } from '../lists/member-list.ts';
import { followMember } from './member-watch.ts';
import type { MemberOutput, MemberSource } from './member-watch.ts';
import type { FanoutDependencies } from '../members/dependencies.ts';
import type { ListParts } from '../lists/list-answer.ts';
import { readFanoutQuery } from '../members/query.ts';
import { answerWatch } from './watch-answer.ts';
import { WatchLines } from './watch-lines.ts';

function answerOf(status: number, pieces: readonly (string | Error)[]): MemberAnswer {
  async function* chunks(): AsyncGenerator<Buffer> {
    for (const piece of pieces) {
      if (piece instanceof Error) throw piece;
      yield Buffer.from(piece);
    }
  }
  return { status, headers: [], chunks: chunks(), cancel() {} };
}

const cut = new GatewayError('MEMBER_UNAVAILABLE', 'cut');
const event = (type: string, version: string): string =>
  `{"type":"${type}","object":{"metadata":{"name":"x","resourceVersion":"${version}"}}}\n`;

/** Follows a member that gives these answers in order; notes every call of the output. */
async function follow(
  version: string | undefined,
  answers: readonly MemberAnswer[],
): Promise<{ readonly reported: string[]; readonly asked: string[] }> {
  const reported: string[] = [];
  const asked: string[] = [];
  const waiting = answers.values();
  const stop = new AbortController();
  const next = (): MemberAnswer => {
    const { value } = waiting.next();
    if (value !== undefined) return value;
    stop.abort();
    throw cut;
  };
  const source: MemberSource = {
    cluster: 'm1',
    async list() {
      asked.push('list');
      const list = new MemberList({ name: 'm1' } as ClusterSpec, next());
      await list.open();
      return { kind: 'open', list };
    },
    async watch(from) {
      asked.push(`watch ${from}`);
      return next();
    },
  };
  const output: MemberOutput = {
    onAttempt: (missing) => void reported.push(missing === undefined ? 'works' : `missing ${missing.code}`),
    onItems: async (_, items) => void reported.push(`items ${items.length}`),
    onJoined: async (_, joined) => void reported.push(`joined ${joined}`),
    onChange: async (type, object) => {
      reported.push(type);
      return WatchLines.versionOf(object);
    },
    onBookmark: async (bookmark) => void reported.push(`bookmark ${bookmark}`),
    onExpired: (why) => void reported.push(`expired: ${why}`),
  };
  await followMember(source, output, version, stop.signal, async () => {});
  return { reported, asked };
}

const page = '{"kind":"XList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{}}]}';

describe('followMember', () => {
  it('lists a member that joins and watches from the version of its list', async () => {
    const { reported, asked } = await follow(undefined, [answerOf(200, [page]), answerOf(200, [event('ADDED', '6')])]);
    assert.deepEqual(asked.slice(0, 2), ['list', 'watch 5']);
    assert.deepEqual(reported.slice(0, 5), ['works', 'items 1', 'joined 5', 'works', 'ADDED']);
  });

  it('goes on from the version of the last event or bookmark, and sends nothing about a break', async () => {
    const bookmark = '{"type":"BOOKMARK","object":{"kind":"X","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}\n';
    const half = event('ADDED', '10').slice(0, 20);
    const { reported, asked } = await follow('5', [
      answerOf(200, [event('DELETED', '6'), bookmark, half, cut]),
      answerOf(200, []),
    ]);
    assert.deepEqual(asked.slice(0, 2), ['watch 5', 'watch 9']);
    assert.deepEqual(reported.slice(0, 3), ['works', 'DELETED', 'bookmark 9']);
    assert.equal(
      reported.some((one) => one.startsWith('expired')),
      false,
    );
  });

  it('ends when a list broke off halfway: objects already sent cannot be taken back', async () => {
    const { reported } = await follow(undefined, [answerOf(200, [page.slice(0, -2), cut])]);
    assert.deepEqual(reported, ['works', 'items 1', 'expired: a cluster broke off while its objects were sent']);
  });

  it('is over when the version is too old, in an event or as an answer, and when rights are lost', async () => {
    const tooOld = '{"type":"ERROR","object":{"kind":"Status","code":410}}\n';
    const expired = '{"type":"ERROR","object":{"kind":"Status","reason":"Expired"}}\n';
    for (const answer of [answerOf(200, [tooOld]), answerOf(200, [expired]), answerOf(410, []), answerOf(403, [])]) {
      const { reported } = await follow('5', [answer]);
      assert.match(reported.at(-1)!, /^expired/);
    }
  });
});

describe('answerWatch', () => {
  const watchOf = (count: number, query: string): Promise<void> => {
    const clusters = Array.from({ length: count }, (_, i) => ({ name: `c${i}`, uid: `${i}0000000` }));
    const parts = {
      state: { inbound: { method: 'GET' } },
      members: { permitted: async () => clusters },
      query: readFanoutQuery(query),
      path: '/api/v1/pods',
    } as unknown as ListParts;
    return answerWatch(parts, { clusters: { list: () => [] } } as unknown as FanoutDependencies, {});
  };

  it('is refused for more than 200 clusters, with the way to the index', async () => {
    await assert.rejects(watchOf(201, '?watch=true'), /at most 200 clusters.*indexes\/default\/proxy\/api\/v1\/pods/);
  });

  it('goes on from no version that says a client has seen only a part of a cluster', async () => {
    const version = (text: string): string => Buffer.from(JSON.stringify({ c0: text })).toString('base64url');
    for (const text of ['joining.00000000', '5.11111111']) {
      await assert.rejects(watchOf(1, `?watch=true&resourceVersion=${version(text)}`), { code: 'EXPIRED' }, text);
    }
    await assert.rejects(watchOf(1, '?watch=true&resourceVersion=5'), { code: 'BAD_REQUEST' });
  });
});

describe('WatchLines', () => {
  const row = (name: string): string =>
    `{"cells":["${name}","ok"],"object":{"metadata":{"name":"${name}","resourceVersion":"3"}}}`;
  const table = (columns: readonly string[] | null, name: string): Buffer =>
    Buffer.from(
      `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"3"},"columnDefinitions":${JSON.stringify(columns?.map((one) => ({ name: one })) ?? null)},"rows":[${row(name)}]}`,
    );
  const read = (
    line: Buffer,
  ): {
    type: string;
    object: {
      columnDefinitions: { name: string }[] | null;
      rows: { cells: string[]; object: { metadata: { resourceVersion: string } } }[];
    };
  } => JSON.parse(line.toString()) as ReturnType<typeof read>;

  it('gives rows of members with other columns the columns that were sent', () => {
    const lines = new WatchLines();
    const [one, other] = [{ own: undefined }, { own: undefined }];
    const first = read(lines.change('ADDED', table(['Name', 'Status'], 'a'), 'm1', one, 'all'));
    assert.deepEqual(
      first.object.columnDefinitions?.map(({ name }) => name),
      ['Cluster', 'Name', 'Status'],
    );
    assert.deepEqual(first.object.rows[0]!.cells, ['m1', 'a', 'ok']);
    assert.equal(first.object.rows[0]!.object.metadata.resourceVersion, 'all');
    const second = read(lines.change('MODIFIED', table(['Status', 'Name'], 'b'), 'm2', other, 'all'));
    assert.equal(second.object.columnDefinitions, null);
    assert.deepEqual(second.object.rows[0]!.cells, ['m2', 'ok', 'b']);
    const later = read(lines.change('DELETED', table(null, 'c'), 'm2', other, 'all'));
    assert.deepEqual([later.type, later.object.rows[0]!.cells], ['DELETED', ['m2', 'ok', 'c']]);
  });

  it('says the type of a listed object that does not say it, and leaves one that does', () => {
    const lines = new WatchLines();
    const type = { kind: 'Pod', apiVersion: 'v1' };
    const listed = (item: string): string =>
      lines.listed(Buffer.from(item), false, type, 'm1', { own: undefined }, 'all').toString();
    assert.match(
      listed('{"metadata":{"name":"a"}}'),
      /^\{"type":"ADDED","object":\{"kind":"Pod","apiVersion":"v1","metadata"/,
    );
    assert.match(
      listed('{"apiVersion":"x/v1","kind":"X","metadata":{}}'),
      /^\{"type":"ADDED","object":\{"apiVersion":"x\/v1","kind":"X"/,
    );
  });
});
