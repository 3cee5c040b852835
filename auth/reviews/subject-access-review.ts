// Asks the hub's RBAC whether a user may do something, with a SubjectAccessReview, and caches the answer for a few
// seconds (apiserver:plugin/pkg/authorizer/webhook). For a request to a cluster, the review is about the `proxy`
// subresource of the cluster's object, with the verb of the request to the cluster. A cached answer is used only for
// exactly the same identity, cluster UID and verb (rule "keys hold the whole identity" in docs/rules.md).
import type { User } from '../../model/user.ts';
import { decideEarly, noHints } from '../rules/authorize.ts';
import type { Attributes } from '../rules/attributes.ts';
import type { Authorizer, Decision } from '../rules/authorize.ts';
import type { HubReview } from './hub-review.ts';
import { makeIdentityNumbers } from '../callers/identity-key.ts';
import { makeReviewCache } from './review-cache.ts';
import type { Reviewed } from './review-cache.ts';

/** How the hub is asked by SubjectAccessReview, and how long its answers are cached. */
export interface HubAuthorizerOptions {
  readonly review: HubReview;
  /**
   * `real` asks with the Kubernetes verb of the request to the cluster (`create` for an upgrade). `http` asks with the
   * verb of the HTTP method, as an aggregating API server does.
   */
  readonly authorizeVerb: 'real' | 'http';
  /**
   * Whether the hub is also asked about the request to the cluster itself (`--subpath-authorization`); see {@link
   * innerGroup}.
   */
  readonly subpathAuthorization: boolean;
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** The attributes of a SubjectAccessReview (authorization.k8s.io/v1). */
type Question =
  | { readonly resourceAttributes: Readonly<Record<string, string>> }
  | { readonly nonResourceAttributes: { readonly path: string; readonly verb: string } };

/** One SubjectAccessReview to send, with a cache key that contains everything the answer depends on. */
interface Asked {
  readonly key: string;
  /** Makes the attributes of the review; called only if the answer is not cached. */
  readonly question: () => Question;
}

const maxDecisions = 100_000;
const maxKeyLength = 24 * 1024 * 1024;
/**
 * Decisions with longer keys are not cached, so that a caller cannot use up the memory. kube-apiserver has the same
 * limit.
 */
const maxRememberedKey = 10_000;
const maxPending = 2_000;

/** Makes an authorizer with an empty cache. `authorize` is synchronous when all answers are cached. */
export function makeHubAuthorizer(options: HubAuthorizerOptions): Authorizer {
  const { review, authorizedTtlMs, unauthorizedTtlMs } = options;
  const now = options.now ?? (() => performance.now());
  const numberOf = makeIdentityNumbers();
  const decisions = makeReviewCache<Decision>({
    maxEntries: maxDecisions,
    maxKeyLength,
    maxPending,
    now,
  });

  const ask = async (user: User, asked: Asked): Promise<Reviewed<Decision>> => {
    const askedAtMs = now();
    const question = asked.question();
    const decision = readDecision(await review('SubjectAccessReview', { ...subjectOf(user), ...question }), question);
    const holdsMs = decision.allowed ? authorizedTtlMs : unauthorizedTtlMs;
    const ttlMs = asked.key.length > maxRememberedKey ? 0 : holdsMs;
    return { answer: Object.freeze({ ...decision, untilMs: askedAtMs + ttlMs }), ttlMs };
  };
  const decideAll = (
    user: User,
    questions: readonly Asked[],
    from = 0,
    before: Decision = nothingAsked,
  ): Decision | Promise<Decision> => {
    let decision = before;
    for (let i = from; i < questions.length; i++) {
      const asked = questions[i]!;
      const earlier = decision;
      const known = decisions.known(asked.key);
      if (known === undefined) {
        return decisions
          .ask(asked.key, () => ask(user, asked))
          .then((later) => {
            const both = noLongerThan(earlier, later);
            return later.allowed && i + 1 < questions.length ? decideAll(user, questions, i + 1, both) : both;
          });
      }
      decision = noLongerThan(earlier, known);
      if (!decision.allowed) return decision;
    }
    return decision;
  };

  return {
    authorize: (attributes) => {
      const early = decideEarly(attributes);
      if (early !== undefined) return early;
      const questions = questionsOf(attributes, numberOf(attributes.user), options);
      return 'allowed' in questions ? questions : decideAll(attributes.user, questions);
    },
    hints: () => (options.subpathAuthorization ? 'anywhere' : noHints),
    // This authorizer has no rules that could change: each decision of the hub says in `untilMs` how long it is valid.
    generation: () => 0,
  };
}

/** Returns the second decision, which may be used no longer than the first. */
function noLongerThan({ untilMs: mostMs = Infinity }: Decision, decision: Decision): Decision {
  return mostMs < (decision.untilMs ?? Infinity) ? { ...decision, untilMs: mostMs } : decision;
}

/**
 * The reviews to send to the hub, all of which it must allow; or a refusal, for a request that no review can describe.
 */
function questionsOf(
  attributes: Attributes,
  number: number,
  options: Pick<HubAuthorizerOptions, 'authorizeVerb' | 'subpathAuthorization'>,
): readonly Asked[] | Decision {
  const { cluster, outer } = attributes;
  if (outer === undefined || cluster === undefined) {
    if (cluster !== undefined && attributes.verb !== 'impersonate') return unasked;
    return [asIs(attributes, number)];
  }
  const verb = options.authorizeVerb === 'http' ? outer.httpVerb : resourceVerb(attributes);
  if (verb === '') return verbless;
  const { group, version, resource } = outer;
  const toCluster: Asked = {
    key: keyOf(number, 'proxy', verb, group, version, resource, cluster.name, cluster.uid),
    question: () => ({
      resourceAttributes: { verb, group, version, resource, subresource: 'proxy', name: cluster.name },
    }),
  };
  if (!options.subpathAuthorization) return [toCluster];
  if (cluster.name.includes('.')) return dotted;
  return [toCluster, behind(attributes, cluster, number)];
}

const nothingAsked: Decision = Object.freeze({ allowed: false, reason: 'nothing was asked' });
const unasked: Decision = Object.freeze({ allowed: false, reason: 'the API that was called is not known' });
const verbless: Decision = Object.freeze({ allowed: false, reason: 'this HTTP method has no Kubernetes verb' });
const dotted: Decision = Object.freeze({
  allowed: false,
  final: true,
  reason: 'clusters with a dot in their name cannot be used with --subpath-authorization',
});

/**
 * For a request that is not about a resource, such as `GET /version`, the verb with which the hub is asked about the
 * `proxy` subresource. Keys are HTTP methods in lower case and Kubernetes verbs.
 */
const resourceVerbs: ReadonlyMap<string, string> = new Map([
  ['get', 'get'],
  ['head', 'get'],
  ['post', 'create'],
  ['create', 'create'],
  ['put', 'update'],
  ['patch', 'patch'],
  ['delete', 'delete'],
]);

function resourceVerb({ verb, resourceRequest }: Attributes): string {
  return resourceRequest ? verb : (resourceVerbs.get(verb) ?? '');
}

/** The review for a request to the gateway's own API and for impersonation, with the attributes unchanged. */
function asIs(attributes: Attributes, number: number): Asked {
  const { verb, path, resourceRequest } = attributes;
  if (!resourceRequest) {
    return { key: keyOf(number, 'path', verb, path), question: () => ({ nonResourceAttributes: { path, verb } }) };
  }
  const { apiGroup: group, apiVersion: version, resource, subresource, namespace, name } = attributes;
  return {
    key: keyOf(number, 'own', verb, group, version, resource, subresource, namespace, name),
    question: () => ({ resourceAttributes: { verb, group, version, resource, subresource, namespace, name } }),
  };
}

/**
 * The API group by which rules in the hub's RBAC refer to a group of one cluster, for `--subpath-authorization`. For
 * example, `apps` in cluster m1 is `apps.m1.clusters.gateway.portcullis.io`. The cluster name must not contain a dot;
 * otherwise two different clusters and groups could give the same name.
 */
export function innerGroup(apiGroup: string, cluster: string): string {
  return `${apiGroup === '' ? 'core' : apiGroup}.${cluster}.clusters.gateway.portcullis.io`;
}

/**
 * The review about the request to the cluster itself (`--subpath-authorization`): a resource with the group of
 * {@link innerGroup}, or the path `/clusters/<name>/proxy/…`.
 */
function behind(
  attributes: Attributes,
  cluster: { readonly name: string; readonly uid: string },
  number: number,
): Asked {
  const { verb, resourceRequest } = attributes;
  if (!resourceRequest) {
    const path = `/clusters/${cluster.name}/proxy${attributes.path}`;
    return {
      key: keyOf(number, 'inner-path', verb, path, cluster.uid),
      question: () => ({ nonResourceAttributes: { path, verb } }),
    };
  }
  const { apiVersion: version, resource, subresource, namespace, name } = attributes;
  const group = innerGroup(attributes.apiGroup, cluster.name);
  return {
    key: keyOf(number, 'inner', verb, group, version, resource, subresource, namespace, name, cluster.uid),
    question: () => ({ resourceAttributes: { verb, group, version, resource, subresource, namespace, name } }),
  };
}

/** Joins texts with their lengths, so that different lists never have the same key. */
function keyOf(number: number, kind: string, ...parts: readonly string[]): string {
  let key = `${number}:${kind}`;
  for (const part of parts) key += `:${part.length}:${part}`;
  return key;
}

function subjectOf({ name, uid, groups, extra }: User): object {
  return {
    user: name,
    groups,
    ...(uid === '' ? {} : { uid }),
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

/** Reads the decision. Only `allowed: true` without `denied` is a yes; anything unexpected is a no. */
function readDecision(status: Readonly<Record<string, unknown>>, question: Question): Decision {
  const denied = status['denied'] !== undefined && status['denied'] !== false;
  const said = typeof status['reason'] === 'string' ? status['reason'] : '';
  if (status['allowed'] === true && !denied) {
    return Object.freeze({ allowed: true, reason: said === '' ? 'the hub allows it' : `the hub allows it: ${said}` });
  }
  const reason = `the hub does not allow ${describe(question)}${said === '' ? '' : ` (${said})`}`;
  return Object.freeze(denied ? { allowed: false, reason, final: true } : { allowed: false, reason });
}

/** Describes what is not allowed, with the fields of an RBAC rule that would allow it. */
function describe(question: Question): string {
  if ('nonResourceAttributes' in question) {
    const { verb, path } = question.nonResourceAttributes;
    return `verb "${verb}" on nonResourceURL ${JSON.stringify(path)}`;
  }
  const { verb, group, resource, subresource = '', namespace = '', name = '' } = question.resourceAttributes;
  const what = `${resource}${subresource === '' ? '' : `/${subresource}`}`;
  const named = name === '' ? '' : ` named ${JSON.stringify(name)}`;
  const where = namespace === '' ? '' : ` in namespace ${JSON.stringify(namespace)}`;
  return `verb "${verb}" on resource "${what}" in API group "${group}"${named}${where}`;
}
