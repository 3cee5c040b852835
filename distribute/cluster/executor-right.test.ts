import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readWork, type Work } from '../work/work.ts';
import { executorFor, executorOf } from '../member/executor-identity.ts';
import { authorFrom } from '../stamp/authors.ts';
import { modifierAnnotation } from '../stamp/stamp-policy.ts';
import { rightOf, type RightParts } from './executor-right.ts';

const account = { namespace: 'open-cluster-management-agent', name: 'klusterlet-work-sa' };
const agentName = 'system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa';
const named = (name: string): object => ({
  executor: { subject: { type: 'ServiceAccount', serviceAccount: { namespace: 'team-a', name } } },
});
const work = (stamp?: string, spec: object = {}): Work =>
  readWork({
    metadata: {
      ...{ name: 'w', namespace: 'm1', uid: '1', resourceVersion: '1' },
      ...(stamp !== undefined && { annotations: { [modifierAnnotation]: stamp } }),
    },
    spec,
  });
const alice = JSON.stringify({ user: 'alice', groups: ['devs'] });

/** Parts of a hub that allows these names to alice, and writes down what it is asked. */
function hubThat(allowed: readonly string[], authors: RightParts['authors']) {
  const asked: string[] = [];
  const mayExecuteAs: RightParts['mayExecuteAs'] = async (user, namespace, name) => {
    asked.push(`${user.name} ${namespace} ${name}`);
    return user.name === 'alice' && allowed.includes(name);
  };
  return { asked, parts: { authors, mayExecuteAs } };
}

const proven: RightParts['authors'] = { of: () => authorFrom({ name: 'alice', groups: ['devs'] }) };

test('whoever changed a work last is asked about, for each executor by its name and for none by that of the default', async () => {
  const cases: readonly (readonly [spec: object, fallback: typeof account | 'gateway', name: string])[] = [
    [named('deployer'), account, 'system:serviceaccount:team-a:deployer'],
    [{}, account, agentName],
    [{ executor: null }, account, agentName],
    [{}, 'gateway', 'gateway'],
    [{ executor: null }, 'gateway', 'gateway'],
  ];
  for (const [spec, fallback, name] of cases) {
    const given = work(alice, spec);
    const executor = executorOf(given.executor, fallback);
    const yes = hubThat([name], proven);
    assert.equal((await rightOf(yes.parts, given, executor)).refused, undefined, name);
    assert.deepEqual(yes.asked, [`alice m1 ${name}`]);
    const no = hubThat(['system:serviceaccount:team-b:other', ''], proven);
    const { refused } = await rightOf(no.parts, given, executor);
    assert.match(refused ?? '', /^user alice cannot manipulate the Manifestwork with executor \S+ in namespace m1$/);
  }
});

test('a work whose last modifier is not proven is not executed, whatever is written in it, and its condition names the fix (ATT-57)', async () => {
  const authors: RightParts['authors'] = { of: () => ({ fault: 'the hub has no policy: install both' }) };
  for (const stamp of [undefined, '', '{}', 'null', alice, '{"user":"","groups":[]}', '{"user":"alice"}']) {
    const { asked, parts } = hubThat([agentName], authors);
    const { refused, conditions } = await rightOf(parts, work(stamp), executorFor(account, false));
    assert.match(refused ?? '', /not proven who changed the work last: the hub has no policy: install both/);
    assert.deepEqual(
      conditions.map(({ type, status, reason }) => [type, status, reason]),
      [['gateway.portcullis.io/Executed', 'False', 'ModifierUnproven']],
    );
    assert.deepEqual(asked, []);
  }
});

test('where the operator accepts it, a work without the annotation is executed, and one that cannot be read is not', async () => {
  const executor = executorFor(account, false);
  const { asked, parts } = hubThat([agentName], undefined);
  for (const stamp of [undefined, ''])
    assert.deepEqual(await rightOf(parts, work(stamp), executor), { refused: undefined, conditions: [] });
  assert.deepEqual(asked, []);
  assert.equal((await rightOf(parts, work(alice), executor)).refused, undefined);
  const bad = ['x', 'null', '[]', '{}', '{"user":"","groups":[]}', '{"user":"alice","groups":null}', '{"user":1}'];
  for (const stamp of [...bad, JSON.stringify({ user: 'bob', groups: [] }), '{"user":"a\\nb","groups":[]}'])
    assert.notEqual((await rightOf(parts, work(stamp), executor)).refused, undefined, stamp);
});
