// May this user do this? The authorizers of the standalone gateway, and joining several into one. The attributes
// describe the inner request, the one that the cluster will see. Behind `--as` the caller must first be allowed to
// impersonate every part of the identity; then the impersonated user must be allowed the request itself.
import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../cache/model/errors.ts';
import { authenticatedGroup, isMaster } from '../callers/reserved.ts';
import { knownVerbs, ruleConcerns, ruleMatches } from './rule-match.ts';
import type { AuthorizationRules } from './rules.ts';
import type { AttributesCluster, Attributes } from './attributes.ts';

/**
 * Whether rules would still see the same cluster as at an earlier decision: the same registration with the same labels.
 */
export function isAsJudged(judged: AttributesCluster, now: AttributesCluster): boolean {
  if (judged.uid !== now.uid) return false;
  return judged.labels === now.labels || isDeepStrictEqual(judged.labels, now.labels);
}

/** An answer and its reason, for the audit log and for the caller of a refused request. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
  /** A refusal that no other authorizer may overrule. */
  readonly final?: boolean;
  /**
   * `performance.now()` milliseconds: until then an equal question gets this answer. Absent: as long as the
   * {@link Authorizer.generation} stays.
   */
  readonly untilMs?: number;
}

/**
 * Decides. Errors of any kind count as a refusal (fail closed).
 * @throws GatewayError HUB_UNAVAILABLE when there is nobody to ask
 */
export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  /**
   * Which namespaces and names of a type it might allow although it refuses the type as a whole (attributes without
   * namespace and name). The index then asks about each of them; a hint decides nothing. Absent means anywhere.
   */
  hints?(attributes: Attributes): AuthorityHints;
  /**
   * Another number whenever answers that say no time may have changed, hints among them. Absent: any answer may change
   * at any time, and nobody may keep one.
   */
  generation?(): number;
}

/** See {@link Authorizer.hints}. */
export type AuthorityHints = 'anywhere' | { readonly namespaces: readonly string[]; readonly names: readonly string[] };

/** Whole types are allowed or refused, nothing in between. */
export const noHints: AuthorityHints = Object.freeze({ namespaces: Object.freeze([]), names: Object.freeze([]) });

/** An authorizer whose rules can be swapped while requests run. */
export interface RulesAuthorizer extends Authorizer {
  authorize(attributes: Attributes): Decision;
  /** Replaces all rules at once; the next decision sees only the new ones. */
  replace(rules: AuthorizationRules): void;
}

/**
 * Allows what a rule of the file allows, and members of `system:masters` everything but the empty verb, as
 * kube-apiserver does.
 */
export function makeRulesAuthorizer(initial: AuthorizationRules): RulesAuthorizer {
  let current = initial;
  let generation = 0;
  return {
    generation: () => generation,
    authorize: (attributes) => {
      const early = decideEarly(attributes);
      if (early !== undefined) return early;
      const index = current.rules.findIndex((rule) => ruleMatches(rule, attributes));
      if (index < 0) return { allowed: false, reason: "no rule of the gateway's authorization rules allows it" };
      return { allowed: true, reason: `allowed by rules[${index}] of ${current.file}` };
    },
    hints: (attributes) => {
      const rules = current.rules.filter((rule) => ruleConcerns(rule, attributes));
      const namespaces = rules.flatMap((rule) => rule.namespaces);
      return { namespaces, names: rules.flatMap((rule) => rule.resourceNames) };
    },
    replace: (rules) => {
      current = rules;
      generation += 1;
    },
  };
}

/**
 * For a gateway without a rules file: every authenticated user may use every cluster, since each cluster's own RBAC
 * decides; nobody but `system:masters` may impersonate, because then the cluster would decide about someone else.
 */
export function allowAuthenticated(): Authorizer {
  return {
    generation: () => 0,
    authorize: (attributes) => {
      const early = decideEarly(attributes);
      if (early !== undefined) return early;
      if (attributes.verb === 'impersonate') {
        return { allowed: false, reason: 'impersonation needs a rule in an authorization rules file of the gateway' };
      }
      if (!knownVerbs.has(attributes.verb)) return { allowed: false, reason: 'the gateway does not know the verb' };
      if (!attributes.user.groups.includes(authenticatedGroup)) {
        return { allowed: false, reason: 'the user is not authenticated' };
      }
      return { allowed: true, reason: 'authenticated users may use every cluster' };
    },
    hints: () => noHints,
  };
}

/**
 * Several authorizers as one, as kube-apiserver's `--authorization-mode` joins them: the first that allows decides, a
 * final refusal ends the search, and errors are dropped when a later authorizer allows.
 * @throws GatewayError (or rejects with it) the first error, when nobody allowed
 */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  if (authorizers.length === 1) return authorizers[0]!;
  const ask = (attributes: Attributes, from: number, met: Met): Decision | Promise<Decision> => {
    for (let i = from; i < authorizers.length; i++) {
      let decision: Decision | Promise<Decision>;
      try {
        decision = authorizers[i]!.authorize(attributes);
      } catch (error) {
        met.failed(error);
        continue;
      }
      if (decision instanceof Promise) {
        return decision.then(
          (later) => (met.isSettledBy(later) ? met.timed(later) : ask(attributes, i + 1, met)),
          (error: unknown) => {
            met.failed(error);
            return ask(attributes, i + 1, met);
          },
        );
      }
      if (met.isSettledBy(decision)) return met.timed(decision);
    }
    return met.refusal();
  };
  const isCounted = authorizers.every(({ generation }) => generation !== undefined);
  return {
    // Each only rises, so a sum that stayed means that each has stayed.
    ...(isCounted && {
      generation: () => authorizers.reduce((sum, authorizer) => sum + authorizer.generation!(), 0),
    }),
    authorize: (attributes) => ask(attributes, 0, new Met()),
    hints: (attributes) => {
      const all = authorizers.map((each) => each.hints?.(attributes) ?? 'anywhere');
      const listed = all.filter((hints) => hints !== 'anywhere');
      if (listed.length < all.length) return 'anywhere';
      return {
        namespaces: listed.flatMap(({ namespaces }) => namespaces),
        names: listed.flatMap(({ names }) => names),
      };
    },
  };
}

/** Refusals and errors so far. */
class Met {
  readonly #reasons: string[] = [];
  readonly #errors: unknown[] = [];
  #untilMs = Infinity;

  failed(error: unknown): void {
    this.#errors.push(error);
    this.#untilMs = 0;
  }

  isSettledBy(decision: Decision): boolean {
    if (decision.untilMs !== undefined) this.#untilMs = Math.min(this.#untilMs, decision.untilMs);
    if (decision.allowed || decision.final === true) return true;
    this.#reasons.push(decision.reason);
    return false;
  }

  /** The decision for no longer than what was asked before it holds. */
  timed(decision: Decision): Decision {
    const untilMs = this.#untilMs;
    return untilMs === (decision.untilMs ?? Infinity) ? decision : { ...decision, untilMs };
  }

  /** @throws the first error */
  refusal(): Decision {
    if (this.#errors.length > 0) throw this.#errors[0];
    return this.timed({ allowed: false, reason: this.#reasons.join('; ') });
  }
}

/**
 * What every authorizer decides in the same way: the empty verb is refused, `system:masters` allowed. Undefined leaves
 * the decision to the authorizer.
 */
export function decideEarly(attributes: Attributes): Decision | undefined {
  if (attributes.verb === '') return { allowed: false, reason: 'this HTTP method has no Kubernetes verb' };
  if (isMaster(attributes.user)) return { allowed: true, reason: 'the user is in group system:masters' };
  return undefined;
}

/** The refusal in kube-apiserver's words (apiserver:pkg/endpoints/handlers/responsewriters), with the cluster named. */
export function forbidden(attributes: Attributes, reason: string): GatewayError {
  const { apiGroup, name, cluster } = attributes;
  const group = apiGroup === '' ? '' : `.${apiGroup}`;
  const subject = attributes.resourceRequest
    ? `${attributes.resource}${group} ${name === '' ? '' : `${JSON.stringify(name)} `}is forbidden: `
    : 'forbidden: ';
  const where = cluster === undefined ? '' : ` of cluster ${JSON.stringify(cluster.name)}`;
  return new GatewayError('FORBIDDEN', `${subject}${describe(attributes)}${where}: ${reason}`, {
    ...(attributes.resourceRequest ? { kind: attributes.resource, group: apiGroup, name } : {}),
    ...(cluster === undefined ? {} : { cluster: cluster.name }),
  });
}

function describe(attributes: Attributes): string {
  const { verb, namespace } = attributes;
  const who = `User ${JSON.stringify(attributes.user.name)} cannot ${verb === '' ? 'do this to' : verb}`;
  if (!attributes.resourceRequest) return `${who} path ${JSON.stringify(attributes.path)}`;
  const resource =
    attributes.subresource === '' ? attributes.resource : `${attributes.resource}/${attributes.subresource}`;
  const what = `${who} resource "${resource}" in API group "${attributes.apiGroup}"`;
  return namespace === '' ? `${what} at the cluster scope` : `${what} in the namespace ${JSON.stringify(namespace)}`;
}
