// Asks a cluster whether the gateway's credential may do more than impersonate. Whoever stole the credential would have
// all its rights, and so would a bug that loses the caller's identity. Rights that every authenticated user has are not
// reported: the probe also asks for the rules of its own user, who has no others, and subtracts these.
import { listed } from '../../lib/text/listed.ts';
import type { Target } from '../../routing/members/target.ts';
import { ask } from './probe-request.ts';
import type { Finding } from './probe-rights.ts';

/** A rule in a SelfSubjectRulesReview. It has either resources or nonResourceURLs. */
export interface ReviewedRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
const accessPath = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
/**
 * The namespace for which a SelfSubjectRulesReview asks; the answer also lists all cluster-wide rules. `default` exists
 * in every cluster.
 */
const namespace = 'default';
const shownRules = 3;

/**
 * Paths that the gateway's credential may read without being reported: some are needed by the probe, and the others are
 * granted to every ServiceAccount by `system:service-account-issuer-discovery`.
 */
const harmlessUrls: ReadonlySet<string> = new Set([
  '/version',
  '/version/',
  '/readyz',
  '/livez',
  '/healthz',
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/',
  '/openid/v1/jwks',
  '/openid/v1/jwks/',
]);
const selfReviews: ReadonlySet<string> = new Set([
  'selfsubjectreviews',
  'selfsubjectaccessreviews',
  'selfsubjectrulesreviews',
]);
const impersonationVerb = /^impersonate(?:$|:|-on:)/;

/**
 * Finds the condition `Overprivileged`; undefined when the gateway's credential may do nothing more than impersonate.
 * @throws GatewayError (rejects) when the cluster does not answer; SyntaxError when its answer is not JSON
 */
export async function scopeFinding(target: Target, timeoutMs: number): Promise<Finding | undefined> {
  const own = await rulesOf(target, 'self', timeoutMs);
  if (own === undefined) return undefined;
  const everybodys = (await rulesOf(target, 'impersonate', timeoutMs))?.rules ?? [];
  const broader = broaderRules(own.rules, everybodys);
  // Some authorizers (webhook, AlwaysAllow) cannot list their rules. When the list is incomplete, the cluster is asked
  // whether the credential may do everything.
  if (broader.length === 0 && own.incomplete && (await mayDoEverything(target, timeoutMs)))
    broader.push({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] });
  if (broader.length === 0) return undefined;
  return {
    type: 'Overprivileged',
    status: 'True',
    reason: 'BroaderThanNeeded',
    message: `the gateway's credential may do more in this cluster than impersonate: ${listed(broader.map(ruleText), shownRules, '; ')}. What it needs is printed by: portcullis generate member-access`,
  };
}

/**
 * The rules in `own` that allow more than impersonation, without those that the probe needs and those in `everybodys`.
 */
export function broaderRules(own: readonly ReviewedRule[], everybodys: readonly ReviewedRule[]): ReviewedRule[] {
  const known = new Set(everybodys.map(ruleKey));
  return own.filter((rule) => {
    const verbs = rule.verbs.filter((verb) => !impersonationVerb.test(verb));
    return verbs.length > 0 && !known.has(ruleKey(rule)) && !isHarmless(verbs, rule);
  });
}

function isHarmless(
  verbs: readonly string[],
  { apiGroups = [], resources = [], nonResourceURLs = [] }: ReviewedRule,
): boolean {
  if (nonResourceURLs.length > 0)
    return verbs.every((verb) => verb === 'get') && nonResourceURLs.every((url) => harmlessUrls.has(url));
  return (
    verbs.every((verb) => verb === 'create') &&
    apiGroups.every((group) => group === 'authorization.k8s.io' || group === 'authentication.k8s.io') &&
    resources.every((resource) => selfReviews.has(resource))
  );
}

function ruleKey({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: ReviewedRule): string {
  return JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs].map((list) => list.toSorted()));
}

/** A rule as text, for example `get, list secrets, configmaps`. At most three verbs and three resources are named. */
function ruleText({ verbs, apiGroups = [], resources = [], nonResourceURLs = [] }: ReviewedRule): string {
  const some = (list: readonly string[]): string =>
    list.length > 3 ? `${list.slice(0, 3).join(', ')}, …` : list.join(', ');
  const things = resources.flatMap((resource) =>
    apiGroups.map((group) => (group === '' ? resource : `${resource}.${group}`)),
  );
  return `${some(verbs)} ${some(nonResourceURLs.length > 0 ? nonResourceURLs : things)}`;
}

async function rulesOf(
  target: Target,
  identity: 'self' | 'impersonate',
  timeoutMs: number,
): Promise<{ readonly rules: readonly ReviewedRule[]; readonly incomplete: boolean } | undefined> {
  const answer = await ask(target, identity, path, timeoutMs, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace },
  });
  if (answer.status !== 201) return undefined;
  const { status } = JSON.parse(answer.body.toString('utf8')) as {
    status?: {
      readonly resourceRules?: readonly ReviewedRule[];
      readonly nonResourceRules?: readonly ReviewedRule[];
      readonly incomplete?: boolean;
    };
  };
  return {
    rules: [...(status?.resourceRules ?? []), ...(status?.nonResourceRules ?? [])],
    incomplete: status?.incomplete === true,
  };
}

async function mayDoEverything(target: Target, timeoutMs: number): Promise<boolean> {
  const answer = await ask(target, 'self', accessPath, timeoutMs, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb: '*', group: '*', resource: '*' } },
  });
  if (answer.status !== 201) return false;
  const { status } = JSON.parse(answer.body.toString('utf8')) as { status?: { allowed?: boolean } };
  return status?.allowed === true;
}
