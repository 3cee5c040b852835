// As whom the types of a member are followed, where some of it is refused to portcullis:index.
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { ClusterSpec } from '../model/records.ts';
import { createClusterStore } from '../model/store.ts';
import { makeFakeMember, type FakeMember } from './fake-member.fixture.ts';
import { makeFakeStore, type FakeStore } from './fake-store.fixture.ts';
import { timing, until } from './follow/follow.fixture.ts';
import { ownCredential } from './member/sync-types.ts';
import { makeSelection } from './discover/selection.ts';
import { startSync } from './sync.ts';
import type { MemberQuestion, TypeState } from './member/sync-types.ts';

const pods = '/api/v1/pods';
const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';

interface Site {
  readonly member: FakeMember;
  readonly store: FakeStore;
  /** Lists and watches of pods as `portcullis:index`, and as the gateway. */
  readonly asked: string[];
  state(resource: string): TypeState | undefined;
}

/** Follows pods. @param isRefused of questions about pods as `portcullis:index` */
async function site(t: TestContext, isRefused: (question: MemberQuestion) => boolean): Promise<Site> {
  const member = makeFakeMember({ [pods]: 'Pod', [roles]: 'ClusterRole' }, new Set([pods]));
  member.put(pods, { namespace: 'a', name: 'p1' });
  const store = makeFakeStore();
  const asked: string[] = [];
  const note = (who: string, { path, isWatch }: MemberQuestion): void => {
    const isWhole = isWatch === true || path.includes('limit=500');
    if (path.startsWith(`${pods}?`) && isWhole) asked.push(`${isWatch === true ? 'watch' : 'list'} ${who}`);
  };
  const clusters = createClusterStore();
  const spec: Partial<ClusterSpec> = { name: 'm1', uid: 'r1', labels: {}, problem: undefined, transportKey: 'r1' };
  clusters.apply('s', [{ ...spec, tls: { ca: undefined, serverName: undefined, insecure: false } } as ClusterSpec]);
  const handle = await startSync({
    clusters,
    areClustersKnown: Promise.resolve(),
    asksOf: () => ({
      async ask(question) {
        const refused = question.path.startsWith(`${pods}?`) && isRefused(question);
        note(refused ? 'refused' : 'index', question);
        const answer = await member.ask(question);
        if (!refused) return answer;
        answer.cancel();
        return { ...answer, status: 403 };
      },
      askAsGateway(question) {
        note('gateway', question);
        return member.ask(question);
      },
    }),
    store,
    selection: makeSelection(['pods'], undefined),
    log: { info: () => undefined, warn: () => undefined },
    timing: { ...timing, discoveryPauseMs: 1 },
    random: () => 0.5,
  });
  t.after(() => handle.close());
  const state: Site['state'] = (resource) => handle.state()[0]?.types.find(({ type }) => type.resource === resource);
  return { member, store, asked, state };
}

const podNames = (store: FakeStore): readonly string[] => Object.keys(store.rows({ group: '', resource: 'pods' }));

it('what may be listed and not watched as portcullis:index is read as the gateway, and only that', async (t) => {
  const { member, store, asked, state } = await site(t, ({ isWatch }) => isWatch === true);
  await until(() => assert.deepEqual([state('pods')?.phase, state('pods')?.readAs], ['watching', ownCredential]));
  const lists = (): readonly string[] => asked.filter((one) => one.startsWith('list'));
  await until(() => assert.deepEqual(lists(), ['list index', 'list gateway']));
  assert.equal(state('clusterroles')?.readAs, 'portcullis:index');
  member.put(pods, { namespace: 'a', name: 'p2' });
  await until(() => assert.deepEqual(podNames(store), ['a/p1', 'a/p2']));
  assert.equal(lists().length, 2, 'it does not go to and fro');
});

it('after a change of RBAC that lets it, what was read as the gateway is listed anew as portcullis:index', async (t) => {
  let isGranted = false;
  const { member, store, asked, state } = await site(t, () => !isGranted);
  await until(() => assert.equal(state('pods')?.phase, 'watching'));
  assert.equal(state('pods')?.readAs, ownCredential);
  await until(() => assert.equal(state('clusterroles')?.phase, 'watching'));
  isGranted = true;
  member.put(roles, { name: 'portcullis-index' });
  await until(() => assert.deepEqual([state('pods')?.phase, state('pods')?.readAs], ['watching', 'portcullis:index']));
  await until(() =>
    assert.deepEqual(
      asked.filter((one) => one.startsWith('list')),
      ['list refused', 'list gateway', 'list index'],
    ),
  );
  assert.deepEqual(podNames(store), ['a/p1']);
});

it('a right that is withdrawn is made up for by the credential, with a new list', async (t) => {
  let isGranted = true;
  const { member, store, asked, state } = await site(t, () => !isGranted);
  await until(() => assert.equal(state('pods')?.phase, 'watching'));
  isGranted = false;
  member.endWatches();
  await until(() => assert.deepEqual([state('pods')?.phase, state('pods')?.readAs], ['watching', ownCredential]));
  await until(() => assert.deepEqual(asked.filter((one) => one.startsWith('list')).at(-1), 'list gateway'));
  assert.deepEqual(podNames(store), ['a/p1']);
});
