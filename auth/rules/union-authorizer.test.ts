import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { unionAuthorizer } from './authorize.ts';
import type { Attributes } from './attributes.ts';
import type { Authorizer, Decision } from './authorize.ts';

const question = {} as Attributes;
const yes: Decision = { allowed: true, reason: 'yes' };
const no: Decision = { allowed: false, reason: 'no' };
const never: Decision = { allowed: false, reason: 'never', final: true };
const down = new GatewayError('HUB_UNAVAILABLE', 'down');

function says(answer: Decision | Error, asked: string[] = [], name = ''): Authorizer[] {
  const give = (): Decision => {
    asked.push(name);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return [{ authorize: give }, { authorize: async () => give() }];
}

/** The joint answer to these answers in order; the same for synchronous and later ones. */
async function outcome(...answers: readonly (Decision | Error)[]): Promise<string> {
  const results = new Set<string>();
  for (let kinds = 0; kinds < 2 ** answers.length; kinds++) {
    const union = unionAuthorizer(answers.map((answer, i) => says(answer)[(kinds >> i) & 1]!));
    try {
      const { allowed, reason } = await union.authorize(question);
      results.add(`${allowed ? 'allowed' : 'refused'}: ${reason}`);
    } catch (error) {
      results.add((error as GatewayError).code);
    }
  }
  assert.equal(results.size, 1, [...results].join(' | '));
  return [...results][0]!;
}

test('the first that allows decides', async () => {
  assert.equal(await outcome(yes, no), 'allowed: yes');
  assert.equal(await outcome(no, yes), 'allowed: yes');
});

test('nobody after it is asked', async () => {
  const asked: string[] = [];
  await unionAuthorizer([says(yes, asked, 'first')[0]!, says(yes, asked, 'second')[0]!]).authorize(question);
  assert.deepEqual(asked, ['first']);
});

test('when nobody allows, every reason is told', async () => {
  assert.equal(await outcome(no, { allowed: false, reason: 'nor I' }), 'refused: no; nor I');
});

test('a final refusal ends the search', async () => {
  assert.equal(await outcome(never, yes), 'refused: never');
  assert.equal(await outcome(no, never, yes), 'refused: never');
});

test('an authorizer that fails is neither a yes nor a no: another may allow, otherwise it is its error', async () => {
  assert.equal(await outcome(down, yes), 'allowed: yes');
  assert.equal(await outcome(no, down), 'HUB_UNAVAILABLE');
  assert.equal(await outcome(down, no), 'HUB_UNAVAILABLE');
});
