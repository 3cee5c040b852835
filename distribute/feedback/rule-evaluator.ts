// Evaluates the `conditionRules` of ManifestWorks outside the event loop that serves requests. The authors of
// ManifestWorks write the expressions and the regular expressions in them, and a single one could block the event loop
// for very long.
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { extname } from 'node:path';
import type { Finding } from '../../kube/objects/conditions.ts';
import { BoundExceeded, makeBoundedWorker } from '../../lib/bounded-worker.ts';
import { makeRecent } from '../../lib/recent.ts';
import { hashOf } from '../work/content-hash.ts';
import type { ConditionRule } from '../work/manifest-config.ts';
import { wordsOf, type RulesOf } from './condition-rules.ts';

/** Evaluates the rules of one object. Rules that cost too much give conditions that say so. */
export interface RuleEvaluator {
  /** @param cluster the cluster of the object; evaluations for different clusters take turns */
  evaluate(cluster: string, object: JsonObject, rules: readonly ConditionRule[]): Promise<readonly Finding[]>;
  /** Milliseconds until rules that cost too much are tried again; undefined when they did not cost too much. */
  againMs(cluster: string, rules: readonly ConditionRule[]): number | undefined;
  close(): void;
}

/**
 * Milliseconds that the rules of one object may take. Real rules take less than one; the rest is for a busy machine.
 */
const deadlineMs = 500;
const memoryMegabytes = 128;
/**
 * For this many milliseconds, rules that cost too much are not evaluated again: during each attempt, all other rules
 * wait until the deadline.
 */
const notAgainMs = 10 * 60_000;
const mostRemembered = 1_000;

/** @param now the clock, in milliseconds */
export function makeRuleEvaluator(now: () => number = () => performance.now()): RuleEvaluator {
  const worker = makeBoundedWorker<RulesOf, readonly Finding[]>({
    module: new URL(`./rule-thread${extname(import.meta.url)}`, import.meta.url),
    deadlineMs,
    memoryMegabytes,
  });
  const tooDear = makeRecent<{ readonly untilMs: number; readonly why: string }>({ maxEntries: mostRemembered });
  let isClosed = false;
  // The cluster is part of the key, so that costly rules in one cluster do not stop equal rules in another.
  const keyOf = (cluster: string, rules: readonly ConditionRule[]): string => hashOf([cluster, rules]);
  return {
    async evaluate(cluster, object, rules) {
      if (rules.length === 0) return [];
      const key = keyOf(cluster, rules);
      const known = tooDear.get(key);
      if (known !== undefined && now() < known.untilMs) return refused(rules, known.why, laterWords);
      try {
        return await worker.run(cluster, { object, rules });
      } catch (error) {
        if (isClosed) throw error;
        // Any other error, such as an object that cannot be sent to the thread, fails only the rules of this object.
        if (!(error instanceof BoundExceeded)) return refused(rules, `failed: ${wordsOf(error)}`, '');
        tooDear.set(key, { untilMs: now() + notAgainMs, why: error.message });
        return refused(rules, error.message, laterWords);
      }
    },
    againMs(cluster, rules) {
      const known = rules.length === 0 ? undefined : tooDear.get(keyOf(cluster, rules));
      return known === undefined || now() >= known.untilMs ? undefined : Math.ceil(known.untilMs - now());
    },
    close() {
      isClosed = true;
      worker.close();
    },
  };
}

const laterWords = '; they are tried again in 10 minutes, or when they are changed';

function refused(rules: readonly ConditionRule[], why: string, later: string): readonly Finding[] {
  return rules.map(({ condition }) => ({
    type: condition,
    status: 'False',
    reason: 'ConditionRuleExpressionError',
    message: `the expressions of this manifest ${why}${later}`,
  }));
}
