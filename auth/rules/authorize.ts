// Authorizers that decide without a hub (by a rules file, or allowing all authenticated users), and a union of several
// authorizers. The attributes that they decide about describe the request as the cluster will see it. With `--as`, the
// caller must first be allowed to impersonate every part of the identity; then the impersonated user must be allowed
// the request itself.
import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../model/errors.ts';
import { authenticatedGroup, isMaster } from '../callers/reserved.ts';
import { knownVerbs, ruleConcerns, ruleMatches } from './rule-match.ts';
import type { AuthorizationRules } from './rules.ts';
import type { AttributesCluster, Attributes } from './attributes.ts';

/**
 * Whether a cluster still has the UID and labels that it had at an earlier decision, so that authorization rules decide
 * about it in the same way.
 */
export function isAsAuthorized(authorized: AttributesCluster, now: AttributesCluster): boolean {
  if (authorized.uid !== now.uid) return false;
  return authorized.labels === now.labels || isDeepStrictEqual(authorized.labels, now.labels);
}

/** A decision with its reason, for the audit log and for the caller of a refused request. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
  /** True for a refusal that ends the search: no other authorizer is asked. */
  readonly final?: boolean;
  /**
   * Until when the same attributes get this decision, in milliseconds of `performance.now()`. Without it, the answer is
   * valid while {@link Authorizer.generation} returns the same number.
   */
  readonly untilMs?: number;
}

/**
 * Decides about requests. The caller must treat any error as a refusal.
 * @throws GatewayError HUB_UNAVAILABLE when the hub cannot be asked
 */
export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  /**
   * Returns the namespaces and object names for which this authorizer might allow a request that it refuses for the
   * type as a whole. The index then calls `authorize` for each of them. An authorizer without this method might allow
   * the request anywhere.
   */
  hints?(attributes: Attributes): AuthorityHints;
  /**
   * Returns a new number when hints, or decisions without `untilMs`, may have changed; until then, callers may cache
   * them. Nothing of an authorizer without this method may be cached.
   */
  generation?(): number;
}

/**
 * Where the authorizer may allow a request that it refuses for the type as a whole: in these namespaces and for these
 * names, or anywhere.
 */
export type AuthorityHints = 'anywhere' | { readonly namespaces: readonly string[]; readonly names: readonly string[] };

/**
 * Hints of an authorizer that allows or refuses a type only as a whole: there is no namespace or name for which a
 * refused type might be allowed.
 */
export const noHints: AuthorityHints = Object.freeze({ namespaces: Object.freeze([]), names: Object.freeze([]) });

/** An authorizer whose rules can be replaced at any time. */
export interface RulesAuthorizer extends Authorizer {
  authorize(attributes: Attributes): Decision;
  /** Replaces all rules at once; the next decision uses only the new ones. */
  replace(rules: AuthorizationRules): void;
}

/**
 * Makes an authorizer that allows what a rule in the file allows. Members of `system:masters` may do everything that
 * has a verb, as in kube-apiserver.
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
 * Makes the authorizer of a gateway without a rules file. Every authenticated user may use every cluster, since the
 * cluster's own RBAC decides. Only `system:masters` may impersonate, because the cluster would then decide about
 * another user. Operations of the index need a rule, too, unless the gateway has one user only, who owns it
 * (`--identity=self`).
 */
export function allowAuthenticated(ownsGateway = false): Authorizer {
  return {
    generation: () => 0,
    authorize: (attributes) => {
      const early = decideEarly(attributes);
      if (early !== undefined) return early;
      if (attributes.verb === 'impersonate') {
        return { allowed: false, reason: 'impersonation needs a rule in an authorization rules file of the gateway' };
      }
      if (!ownsGateway && operatesIndex(attributes)) {
        const reason =
          'the status of the index, and changing it, need a rule in an authorization rules file of the gateway';
        return { allowed: false, reason };
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

const operations: ReadonlySet<string> = new Set(['status', 'move', 'rebuild']);

/**
 * Whether the request is one of the operations of the index (`status`, `move`, `rebuild`). Only operators may do them,
 * because the answers name every cluster and count its objects.
 */
function operatesIndex({ cluster, apiGroup, resource, subresource }: Attributes): boolean {
  const isIndex = cluster === undefined && apiGroup === 'search.portcullis.io' && resource === 'indexes';
  return isIndex && operations.has(subresource);
}

/**
 * Combines authorizers as kube-apiserver's `--authorization-mode` does: the first that allows decides, a final refusal
 * ends the search, and errors are ignored if a later authorizer allows.
 * @throws GatewayError (or rejects with it) the first error, when no authorizer allowed
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
    // Each generation only rises, so the sum stays the same only while every generation does.
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

/** Collects the refusals and errors of the authorizers that were asked so far. */
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

  /** Returns the decision, which may be used no longer than those of the authorizers that were asked before. */
  timed(decision: Decision): Decision {
    const untilMs = this.#untilMs;
    return untilMs === (decision.untilMs ?? Infinity) ? decision : { ...decision, untilMs };
  }

  /**
   * The refusal when no authorizer allowed, with the reasons of all.
   * @throws the first error of an authorizer, if any threw
   */
  refusal(): Decision {
    if (this.#errors.length > 0) throw this.#errors[0];
    return this.timed({ allowed: false, reason: this.#reasons.join('; ') });
  }
}

/**
 * Decisions that are the same for every authorizer: an empty verb is refused, `system:masters` is allowed. Undefined
 * when the authorizer must decide.
 */
export function decideEarly(attributes: Attributes): Decision | undefined {
  if (attributes.verb === '') return { allowed: false, reason: 'this HTTP method has no Kubernetes verb' };
  if (isMaster(attributes.user)) return { allowed: true, reason: 'the user is in group system:masters' };
  return undefined;
}

/**
 * The error for a refused request, worded as in kube-apiserver (apiserver:pkg/endpoints/handlers/responsewriters) with
 * the cluster added.
 */
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
