// Asks the hub's RBAC whether a user may do something, by SubjectAccessReview, and remembers the answer for seconds
// (apiserver:plugin/pkg/authorizer/webhook). For a request to a cluster the question names the resource whose `proxy`
// subresource was called, with the verb of the request behind it. An answer counts for exactly this identity, cluster
// registration and verb (rule "keys hold the whole identity").
import type { User } from '../../cache/model/user.ts';
import { decideEarly, noHints } from '../rules/authorize.ts';
import type { Attributes } from '../rules/attributes.ts';
import type { Authorizer, Decision } from '../rules/authorize.ts';
import type { HubReview } from './hub-review.ts';
import { makeIdentityNumbers } from '../callers/identity-key.ts';
import { makeReviewCache } from './review-cache.ts';
import type { Reviewed } from './review-cache.ts';

/** What the hub is asked, and how long its answer counts. */
export interface HubAuthorizerOptions {
  readonly review: HubReview;
  /**
   * `real`: the verb of the request to the cluster, where an upgrade is `create`. `http`: the HTTP method, as an
   * aggregating API server asks.
   */
  readonly authorizeVerb: 'real' | 'http';
  /** Ask also about the request behind `proxy`; see {@link innerGroup}. */
  readonly subpathAuthorization: boolean;
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  /** Milliseconds of any clock that never goes back. */
  readonly now?: () => number;
}

/** What a SubjectAccessReview is about (authorization.k8s.io/v1). */
type Question =
  | { readonly resourceAttributes: Readonly<Record<string, string>> }
  | { readonly nonResourceAttributes: { readonly path: string; readonly verb: string } };

/** One question and everything its answer depends on. */
interface Asked {
  readonly key: string;
  /** Made only when the hub must be asked. */
  readonly question: () => Question;
}

const maxDecisions = 100_000;
const maxKeyLength = 24 * 1024 * 1024;
/** Decisions about longer questions are not remembered: a caller could fill the memory (kube-apiserver's limit). */
const maxRememberedKey = 10_000;
const maxPending = 2_000;

/** Makes one that has asked nothing yet. Its `authorize` answers at once when everything asked is remembered. */
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
    // Each answer of the hub says how long it counts.
    generation: () => 0,
  };
}

/** The decision for no longer than the one before it counts. */
function noLongerThan({ untilMs: mostMs = Infinity }: Decision, decision: Decision): Decision {
  return mostMs < (decision.untilMs ?? Infinity) ? { ...decision, untilMs: mostMs } : decision;
}

/** What the hub must allow, all of it; a refusal when it cannot even be asked. */
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

/** Verbs of requests without a resource, as verbs of the `proxy` subresource they pass through. */
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

/** The question for the gateway's own API and for impersonation: the attributes as they are. */
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
 * API group that stands for a group of one cluster in the hub's RBAC under sub-path authorization. The cluster is one
 * label, so that no two clusters and groups share a name.
 */
export function innerGroup(apiGroup: string, cluster: string): string {
  return `${apiGroup === '' ? 'core' : apiGroup}.${cluster}.clusters.gateway.portcullis.io`;
}

/** The request behind `proxy`, in a group that stands for its own group in this cluster, or as a path below it. */
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

/** Writes the length before each part, so that no two lists of parts share a key. */
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

/** Only a plain yes is one: `denied` beside `allowed`, or anything but booleans, is a no. */
function readDecision(status: Readonly<Record<string, unknown>>, question: Question): Decision {
  const denied = status['denied'] !== undefined && status['denied'] !== false;
  const said = typeof status['reason'] === 'string' ? status['reason'] : '';
  if (status['allowed'] === true && !denied) {
    return Object.freeze({ allowed: true, reason: said === '' ? 'the hub allows it' : `the hub allows it: ${said}` });
  }
  const reason = `the hub does not allow ${describe(question)}${said === '' ? '' : ` (${said})`}`;
  return Object.freeze(denied ? { allowed: false, reason, final: true } : { allowed: false, reason });
}

/** In the words of a rule that would allow it. */
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
