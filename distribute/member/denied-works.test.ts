import assert from 'node:assert/strict';
import { test } from 'node:test';
import { executorFor } from './executor-identity.ts';
import { DeniedWorks } from './denied-works.ts';

const executor = executorFor({ namespace: 'team', name: 'deployer' }, true);

/** A member whose answer about rules can be changed. `round` resolves when a round of questions is over. */
function member() {
  const asked: string[] = [];
  const changed: string[] = [];
  const state = { rules: 'none' as string | Error };
  let seen = (): void => undefined;
  const works = new DeniedWorks({
    everyMs: 1,
    async rulesOf(_executor, namespace) {
      asked.push(namespace);
      seen();
      if (state.rules instanceof Error) throw state.rules;
      return state.rules;
    },
    onChange: (work) => changed.push(work),
  });
  const round = async (): Promise<void> => {
    for (let count = 0; count < 2; count += 1) await new Promise<void>((resolve) => (seen = resolve));
  };
  return { works, asked, changed, state, round };
}

test('a work that waits for a right is tried once more, and then again only when the rules change', async () => {
  const { works, changed, state, round } = member();
  works.note('w', executor, new Set(['ns1']));
  await round();
  await round();
  assert.deepEqual(changed, ['w']);
  state.rules = 'some';
  await round();
  assert.deepEqual(changed, ['w', 'w']);
  state.rules = new Error('the cluster does not answer');
  await round();
  state.rules = 'some';
  await round();
  assert.deepEqual(changed, ['w', 'w'], 'a cluster that did not answer is no change');
  works.close();
});

test('works with the same executor and namespace cost one question, and objects outside of namespaces one, too', async () => {
  const { works, asked, round } = member();
  works.note('one', executor, new Set(['ns1', '']));
  works.note('two', executor, new Set(['ns1']));
  await round();
  assert.deepEqual(asked.slice(0, 2), ['ns1', 'default']);
  works.close();
});

test('a work that waits no more asks nothing', async () => {
  const { works, asked, round } = member();
  works.note('w', executor, new Set(['ns1']));
  works.note('other', executor, new Set(['ns2']));
  await round();
  works.note('w', executor, new Set());
  await round();
  const before = asked.length;
  await round();
  await round();
  assert.deepEqual(new Set(asked.slice(before)), new Set(['ns2']));
  works.close();
});
