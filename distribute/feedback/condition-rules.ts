// Evaluates the `conditionRules` of a ManifestWork: each gives a condition of an object, by CEL expressions over the
// object, or by expressions that OCM defines for some kinds (well-known conditions).
import { fieldOf, isJsonObject, textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import type { Finding } from '../../kube/objects/conditions.ts';
import { goNumber } from '../../lib/json/exact-json.ts';
import type { ConditionRule } from '../work/manifest-config.ts';
import { groupKindIn, splitApiVersion } from '../work/manifest-work.ts';
import { makeExpressions, type Budget } from './cel/expression.ts';
import { CelFault, ProgramFault } from './cel/steps.ts';

/** The message to the worker thread that evaluates rules: an object and its condition rules. */
export interface RulesOf {
  readonly object: JsonObject;
  readonly rules: readonly ConditionRule[];
}

const wellKnown: Readonly<Record<string, Pick<ConditionRule, 'expressions' | 'messageExpression'>>> = {
  'v1 Job.batch Complete': {
    expressions: [
      "hasConditions(object.status) && object.status.conditions.exists(c, c.type in ['Complete', 'Failed'] && c.status == 'True')",
    ],
    messageExpression: "result ? 'Job is finished' : 'Job is not finished'",
  },
  'v1 Pod Complete': {
    expressions: ["object.status.phase in ['Succeeded', 'Failed']"],
    messageExpression: '"Pod is in phase " + object.status.phase',
  },
};

/**
 * Evaluates the rules and returns the conditions. An expression may run for ever, so rule-evaluator.ts calls this
 * function in a separate thread, which it can end. A rule for a well-known condition is left out if the object's kind
 * does not have that condition.
 */
export function evaluateRules(object: JsonObject, rules: readonly ConditionRule[]): readonly Finding[] {
  if (rules.length === 0) return [];
  const variable = celValue(object);
  const budget: Budget = { steps: mostStepsOfObject };
  return rules.flatMap((given) => {
    const { type, condition } = given;
    if (type !== 'CEL' && type !== 'WellKnownConditions') {
      const message = `unrecognized condition rule type ${type}`;
      return [{ type: condition, status: 'Unknown', reason: 'ConditionRuleInvalid', message } as const];
    }
    const rule = type === 'CEL' ? given : wellKnownRule(object, given);
    return rule === undefined ? [] : [evaluate(rule, variable, budget)];
  });
}

function wellKnownRule(object: JsonObject, given: ConditionRule): ConditionRule | undefined {
  const [, version] = splitApiVersion(textAt(object, 'apiVersion'));
  const known = wellKnown[`${version} ${groupKindIn(object)} ${given.condition}`];
  if (known === undefined) return undefined;
  return { ...given, ...known, messageExpression: given.messageExpression || known.messageExpression };
}

function evaluate(rule: ConditionRule, object: unknown, budget: Budget): Finding {
  const { condition: type } = rule;
  try {
    // Stops at the first expression that is false, so that an earlier expression can check for a field that a later one
    // reads.
    const holds = rule.expressions.every((expression) => isTrue(run(expression, { object }, budget)));
    const message = messageOf(rule, object, holds, budget);
    return { type, status: holds ? 'True' : 'False', reason: 'ConditionRuleEvaluated', message };
  } catch (error) {
    const message = wordsOf(error);
    if (error instanceof ProgramFault)
      return { type, status: 'Unknown', reason: 'ConditionRuleInternalError', message };
    return { type, status: 'False', reason: 'ConditionRuleExpressionError', message };
  }
}

function isTrue(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new CelFault(`expected bool result, got ${goTypeOf(value)}`);
  return value;
}

/** The Go type of a CEL value, as OCM's agent prints it in messages. */
function goTypeOf(value: unknown): string {
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return 'float64';
  if (Array.isArray(value)) return '[]interface {}';
  if (value === null) return 'structpb.NullValue';
  return typeof value === 'object' ? 'map[string]interface {}' : typeof value;
}

function messageOf(rule: ConditionRule, object: unknown, result: boolean, budget: Budget): string {
  const { condition, message, messageExpression } = rule;
  const otherwise = message !== '' ? message : `Manifest is ${result ? '' : 'not '}${condition}`;
  if (messageExpression === '') return otherwise;
  try {
    const text = run(messageExpression, { object, result }, budget);
    if (typeof text !== 'string') return `expected message expression to have a string result, got ${goTypeOf(text)}`;
    return text === '' ? otherwise : text;
  } catch (error) {
    return wordsOf(error);
  }
}

/** Returns the first line of an error's message. CEL's further lines only show the position in the expression. */
export function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : 'unknown fault').split('\n')[0]!;
}

const expressions = makeExpressions((environment) => {
  environment.registerVariable('object', 'dyn');
  // `hasConditions` is a function that OCM adds to CEL: whether a status has any conditions.
  environment.registerFunction('hasConditions(dyn): bool', hasConditions, { async: false });
});
const messageExpressions = makeExpressions((environment) => {
  environment.registerVariable('object', 'dyn').registerVariable('result', 'bool');
  environment.registerFunction('hasConditions(dyn): bool', hasConditions, { async: false });
});

function hasConditions(status: unknown): boolean {
  const conditions = fieldOf(status, 'conditions');
  return Array.isArray(conditions) && conditions.length > 0;
}

/** Maximum number of steps that all rules of one object may take together, as in OCM's agent (RuntimeCELCostBudget). */
const mostStepsOfObject = 10_000_000;

/**
 * Evaluates an expression, and subtracts its steps from the budget.
 * @throws CelFault
 */
function run(expression: string, variables: Readonly<Record<string, unknown>>, budget: Budget): unknown {
  const evaluator = 'result' in variables ? messageExpressions : expressions;
  return evaluator.run(expression, variables, budget);
}

/** Converts JSON to CEL's values. Whole numbers of 64 bits become `int` (bigint), all others `double`. */
function celValue(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return goNumber(value);
  if (Array.isArray(value)) return value.map(celValue);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, celValue(inner)]));
}
