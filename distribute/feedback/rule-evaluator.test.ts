import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { readConditionRule, type ConditionRule } from '../work/manifest-config.ts';
import { makeRuleEvaluator } from './rule-evaluator.ts';

const rule = (...celExpressions: readonly string[]): ConditionRule =>
  readConditionRule({ condition: 'C', type: 'CEL', celExpressions });
const text = 'a'.repeat(50_000);
const object = { apiVersion: 'v1', kind: 'ConfigMap', data: { t: text }, list: Array.from({ length: 900 }, () => 'a') };
/** Each search of it reads to the end of the text, which no count of steps knows. */
const endless = "object.data.t.findAll('(?:a.*b|a)').size() == 0";

test('a rule that would never end is a condition, and neither this process nor other rules wait for it (ATT-56)', async (t) => {
  const evaluator = makeRuleEvaluator();
  t.after(() => evaluator.close());
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);
  const [bad, good] = await Promise.all([
    evaluator.evaluate('a', object, [rule(endless), rule('true')]),
    evaluator.evaluate('b', object, [rule("object.data.t.startsWith('a')")]),
  ]);
  clearInterval(counting);
  assert.ok(turns > 50, `${turns} turns of the event loop`);
  assert.deepEqual(
    bad.map(({ type, status, reason }) => [type, status, reason]),
    [
      ['C', 'False', 'ConditionRuleExpressionError'],
      ['C', 'False', 'ConditionRuleExpressionError'],
    ],
  );
  assert.match(bad[0]!.message, /took longer than 500 ms; they are tried again in 10 minutes/);
  assert.deepEqual([good[0]!.status, good[0]!.reason], ['True', 'ConditionRuleEvaluated']);
});

test('rules that cost too much are not tried again for ten minutes, those of another cluster are', async (t) => {
  let nowMs = 0;
  const evaluator = makeRuleEvaluator(() => nowMs);
  t.after(() => evaluator.close());
  const evaluate = async (cluster: string, given: JsonObject = object): Promise<string> =>
    (await evaluator.evaluate(cluster, given, [rule(endless)]))[0]!.message;
  assert.match(await evaluate('a'), /took longer/);
  const cheap = { ...object, data: { t: '' } };
  assert.match(await evaluate('a', cheap), /took longer/, 'remembered');
  nowMs += 1_000;
  assert.equal(evaluator.againMs('a', [rule(endless)]), 10 * 60_000 - 1_000);
  assert.deepEqual([evaluator.againMs('b', [rule(endless)]), evaluator.againMs('a', [])], [undefined, undefined]);
  assert.match(await evaluate('b', cheap), /Manifest is C/);
  nowMs += 10 * 60_000 - 1_000;
  assert.equal(evaluator.againMs('a', [rule(endless)]), undefined);
  assert.match(await evaluate('a', cheap), /Manifest is C/);
  assert.deepEqual(await evaluator.evaluate('a', object, []), []);
});

test('no rule of any form holds back this process for long (ATT-56)', async (t) => {
  const evaluator = makeRuleEvaluator();
  t.after(() => evaluator.close());
  const dear = [
    endless,
    "object.data.t.matches('(a|a)*$b')",
    "object.list.all(a, object.data.t.matches('^(a+)+$b'))",
    "object.list.all(a, object.list.all(b, object.data.t.split('').size() > 0))",
    `${'['.repeat(29)}1${']'.repeat(29)} == 1`,
    'object.list.map(a, object.list).size() > 0 && object.list.map(a, object.list.map(b, object.list)).size() > 0',
  ];
  // CPU of this thread between two turns: on a busy machine it waits for the processor, too.
  let slowestMs = 0;
  let last = process.threadCpuUsage();
  const counting = setInterval(() => {
    const { user, system } = process.threadCpuUsage(last);
    slowestMs = Math.max(slowestMs, (user + system) / 1000);
    last = process.threadCpuUsage();
  }, 5);
  for (const [i, expression] of dear.entries()) {
    const [found] = await evaluator.evaluate(`c${i}`, object, [rule(expression)]);
    assert.equal(found?.status, 'False', expression);
  }
  clearInterval(counting);
  assert.ok(slowestMs < deadlineOfOthersMs, `${Math.round(slowestMs)} ms of CPU without a turn`);
});

test('what cannot be sent to the thread, or breaks in it, is a condition of its rules', async (t) => {
  const evaluator = makeRuleEvaluator();
  t.after(() => evaluator.close());
  const deep = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  const odd = [
    { ...object, list: deep(9_000) },
    { ...object, data: { t: () => 1 } },
  ] as readonly JsonObject[];
  for (const each of odd) {
    const [one, other] = await evaluator.evaluate('a', each, [rule('true'), rule('false')]);
    for (const found of [one, other]) assert.equal(found?.reason, 'ConditionRuleExpressionError');
    assert.match(one!.message, /^the expressions of this manifest failed: /);
    assert.equal(evaluator.againMs('a', [rule('true'), rule('false')]), undefined);
  }
  assert.equal((await evaluator.evaluate('a', object, [rule('true')]))[0]?.status, 'True');
});

/** Within this time whoever else asks is to be answered, in milliseconds. */
const deadlineOfOthersMs = 250;
