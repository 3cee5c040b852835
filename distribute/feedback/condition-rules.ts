// Evaluates the `conditionRules` of a ManifestWork: each gives a condition of an object, by CEL expressions over the
// object, or by expressions that OCM defines for some kinds (well-known conditions).
import { Environment } from '@marcbachmann/cel-js';
import type { Finding } from '../../controllers/conditions.ts';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import { listAt, textAt } from '../../controllers/objects.ts';
import { goNumber } from '../../lib/json/exact-json.ts';
import { groupKindIn, splitApiVersion } from '../work/manifest-work.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';

/** An object and the rules for it, as they are sent to the thread that evaluates them. */
export interface RulesOf {
  readonly object: JsonObject;
  readonly rules: readonly unknown[];
}

interface Rule {
  readonly condition: string;
  readonly expressions: readonly string[];
  readonly message: string;
  readonly messageExpression: string;
}

const wellKnown: Readonly<Record<string, Omit<Rule, 'message' | 'condition'>>> = {
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
 * Evaluates the rules and returns the conditions. An author's expression may run for ever: rule-evaluator.ts calls this
 * in a thread of its own. A rule for a well-known condition is left out if the object's kind
 * does not have that condition.
 */
export function evaluateRules(object: JsonObject, rules: readonly unknown[]): readonly Finding[] {
  if (rules.length === 0) return [];
  const variable = celValue(object);
  return rules.flatMap((written) => {
    const type = textAt(written, 'condition');
    const ruleType = textAt(written, 'type');
    if (ruleType !== 'CEL' && ruleType !== 'WellKnownConditions') {
      const message = `unrecognized condition rule type ${ruleType}`;
      return [{ type, status: 'Unknown', reason: 'ConditionRuleInvalid', message } as const];
    }
    const rule = ruleType === 'CEL' ? celRule(written) : wellKnownRule(object, written);
    return rule === undefined ? [] : [evaluate(rule, variable)];
  });
}

function celRule(written: unknown): Rule {
  return {
    condition: textAt(written, 'condition'),
    expressions: listAt(written, 'celExpressions').filter((each) => typeof each === 'string'),
    message: textAt(written, 'message'),
    messageExpression: textAt(written, 'messageExpression'),
  };
}

function wellKnownRule(object: JsonObject, written: unknown): Rule | undefined {
  const given = celRule(written);
  const [, version] = splitApiVersion(textAt(object, 'apiVersion'));
  const known = wellKnown[`${version} ${groupKindIn(object)} ${given.condition}`];
  if (known === undefined) return undefined;
  return { ...given, ...known, messageExpression: given.messageExpression || known.messageExpression };
}

function evaluate(rule: Rule, object: unknown): Finding {
  const { condition: type } = rule;
  try {
    // Stops at the first expression that is false, so that an earlier expression can check for a field that a later one
    // reads.
    const holds = rule.expressions.every((expression) => isTrue(run(expression, { object })));
    const message = messageOf(rule, object, holds);
    return { type, status: holds ? 'True' : 'False', reason: 'ConditionRuleEvaluated', message };
  } catch (error) {
    return { type, status: 'False', reason: 'ConditionRuleExpressionError', message: wordsOf(error) };
  }
}

function isTrue(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new Error(`expected bool result, got ${typeof value}`);
  return value;
}

function messageOf({ condition, message, messageExpression }: Rule, object: unknown, result: boolean): string {
  const otherwise = message !== '' ? message : `Manifest is ${result ? '' : 'not '}${condition}`;
  if (messageExpression === '') return otherwise;
  try {
    const text = run(messageExpression, { object, result });
    if (typeof text !== 'string') return `expected message expression to have a string result, got ${typeof text}`;
    return text === '' ? otherwise : text;
  } catch (error) {
    return wordsOf(error);
  }
}

/** Returns the first line of an error's message. CEL's further lines only show the position in the expression. */
export function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : 'unknown fault').split('\n')[0]!;
}

const environment = makeEnvironment();

/**
 * Most steps that the loops of one expression may take by a rough estimate: the length of the object's longest list to
 * the power of the number of loops. It gives such an expression its reason at once. What bounds the others is the
 * thread, which ends whatever takes too long.
 */
const maxSteps = 1_000_000;
const loops = /\.(?:all|exists|exists_one|map|filter)\s*\(/g;

function run(expression: string, variables: Record<string, unknown>): unknown {
  const count = [...expression.matchAll(loops)].length;
  if (longestList(variables['object']) ** count > maxSteps)
    throw new Error('the loops of the expression over the lists of the object would take too long');
  return environment.evaluate(expression, variables);
}

function longestList(value: unknown): number {
  if (Array.isArray(value)) return Math.max(value.length, 1, ...value.map(longestList));
  return isJsonObject(value) ? Math.max(1, ...Object.values(value).map(longestList)) : 1;
}

/**
 * Makes a CEL environment with limits: the expressions are written by whoever may write a ManifestWork, and those of
 * all clusters run one after the other in one thread.
 */
function makeEnvironment(): Environment {
  const made = new Environment({
    unlistedVariablesAreDyn: false,
    enableOptionalTypes: true,
    limits: { maxAstNodes: 500, maxDepth: 30, maxListElements: 200, maxMapEntries: 50, maxCallArguments: 8 },
  });
  made.registerVariable('object', 'dyn');
  made.registerVariable('result', 'bool');
  // `hasConditions` is a function that OCM adds to CEL: whether a status has any conditions.
  made.registerFunction('hasConditions(dyn): bool', (object: unknown) => {
    const conditions = fieldOf(object, 'conditions');
    return Array.isArray(conditions) && conditions.length > 0;
  });
  return made;
}

/** Converts JSON to CEL's values. Whole numbers of 64 bits become `int` (bigint), all others `double`. */
function celValue(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return goNumber(value);
  if (Array.isArray(value)) return value.map(celValue);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, celValue(inner)]));
}
