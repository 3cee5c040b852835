// Asks clusters who may see what, for clusters that decide by more than RBAC. It sends SubjectAccessReviews with the
// gateway's own credential and names the user's identity in the spec. A SubjectAccessReview adds no groups by itself,
// so the spec holds the identity as it is after impersonation. An answer counts for ten seconds. A failed request is
// not remembered, and it hides the cluster.
import { inTurns } from '../lib/concurrency/in-turns.ts';
import { makeIdentityNumbers } from '../auth/callers/identity-key.ts';
import { makeReviewCache } from '../auth/reviews/review-cache.ts';
import type { Reviewed } from '../auth/reviews/review-cache.ts';
import { GatewayError } from '../model/errors.ts';
import type { ClusterRecord } from '../model/records.ts';
import type { User } from '../model/user.ts';
import { intersectGrants, isCut, isNothing, makeGrant, noGrant } from '../query/scope/grants.ts';
import type { GrantedName } from '../query/scope/grants.ts';
import { anyName } from './rbac/rbac.ts';
import type { RbacView, RowVerb, ScopedType } from './rbac/rbac-view.ts';
import type { Grant } from '../query/scope/scope.ts';

/** The spec of an authorization.k8s.io/v1 SubjectAccessReview. */
export interface AccessReviewSpec {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly resourceAttributes: {
    readonly verb: string;
    readonly group: string;
    readonly resource: string;
    readonly namespace: string;
    readonly name: string;
  };
}

/** Requests to clusters about rights. Both methods reject with a GatewayError when the cluster does not answer. */
export interface MemberReviews {
  /**
   * Sends a SubjectAccessReview with the gateway's own credential. True when `status.allowed` is set and
   * `status.denied` is not.
   */
  isAllowed(record: ClusterRecord, spec: AccessReviewSpec): Promise<boolean>;
  /**
   * Sends a SelfSubjectRulesReview, as `portcullis:index` or with the gateway's own credential. True unless the answer
   * has `status.incomplete: false`: authorizers besides RBAC may decide, too.
   */
  isIncomplete(record: ClusterRecord): Promise<boolean>;
}

/** An access to objects, about which a cluster is asked for one identity. */
export interface RowQuestion {
  readonly verb: 'get' | 'list' | 'watch';
  readonly type: ScopedType;
  /** The namespace of the object; '' for all namespaces, and for cluster-scoped objects. */
  readonly namespace: string;
  /** The name of the object; '' for all names. */
  readonly name: string;
}

/** A grant, and until when the answers that it was made from are valid. */
export interface TimedGrant {
  readonly grant: Grant;
  /** The time, in milliseconds of `performance.now()`, from which the answers must be requested again. */
  readonly untilMs: number;
}

/** A cluster that is asked about rights. */
export interface AskedCluster {
  readonly record: ClusterRecord;
  readonly incarnation: string;
  readonly view: RbacView;
  /** When all questions must be answered, in milliseconds of the reviewer's clock. Undefined: there is no limit. */
  readonly byMs?: number;
}

/** Asks clusters about rights and remembers the answers for some seconds. */
export interface Reviewer {
  /**
   * The objects that the cluster says this identity may see. The namespaces and names to ask about come from the copied
   * RBAC: all Namespaces, and the names that RBAC mentions for the identity. The cluster decides about each.
   * @param identity as the cluster sees it after impersonation
   * @throws GatewayError (rejects) when the cluster does not answer a question, MEMBER_TIMEOUT when not all are
   *   answered in time
   */
  grant(asked: AskedCluster, identity: User, verb: RowVerb, type: ScopedType): Promise<TimedGrant>;
}

export interface ReviewerOptions {
  readonly reviews: Pick<MemberReviews, 'isAllowed'>;
  /** Milliseconds for which an answer is valid, counted from the sending of the question; ten seconds by default. */
  readonly ttlMs?: number;
  /** Returns milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

interface Answer {
  readonly allowed: boolean;
  readonly untilMs: number;
}

const cacheLimits = { maxEntries: 200_000, maxKeyLength: 48 * 1024 * 1024, maxPending: 20_000 };
/** Milliseconds for which an answer of a cluster about rights counts. */
export const answerCountsMs = 10_000;
/** The most access reviews that one computation of a grant sends to a cluster at the same time. */
const questionsAtOnce = 16;
/** The most questions for one grant. A grant that needs more is refused: a partial one would look complete. */
const mostQuestions = 20_000;

export function makeReviewer(options: ReviewerOptions): Reviewer {
  const { reviews, ttlMs = answerCountsMs, now = () => performance.now() } = options;
  const numberOf = makeIdentityNumbers();
  const answers = makeReviewCache<Answer>({ ...cacheLimits, now });

  /** The cluster that a grant is computed for. `untilMs` is lowered to the earliest expiry of the answers used. */
  type Asked = AskedCluster & { untilMs: number };
  const allowed = async (asked: Asked, identity: User, question: RowQuestion): Promise<boolean> => {
    const { record, incarnation, byMs = Infinity } = asked;
    const { verb, type, namespace, name } = question;
    const parts = [numberOf(identity), incarnation, verb, type.group, type.resource, namespace, name];
    const key = JSON.stringify(parts);
    const known = answers.known(key);
    const spec = accessReviewSpec(identity, question);
    const review = async (): Promise<Reviewed<Answer>> => {
      const untilMs = now() + ttlMs;
      return { answer: { allowed: await reviews.isAllowed(record, spec), untilMs }, ttlMs };
    };
    if (now() > byMs) throw unansweredYet(record);
    const answer = known ?? (await answers.ask(key, review));
    asked.untilMs = Math.min(asked.untilMs, answer.untilMs);
    return answer.allowed;
  };

  /** Whether the identity may see every object, of all namespaces or of the one in the question. */
  const allowedWhole = async (asked: Asked, identity: User, question: RowQuestion): Promise<boolean> => {
    if (!(await allowed(asked, identity, question))) return false;
    return question.verb !== 'get' || (await allowed(asked, identity, { ...question, name: anyName }));
  };

  const granted = async (asked: Asked, identity: User, verb: RowQuestion['verb'], type: ScopedType): Promise<Grant> => {
    if (await allowedWhole(asked, identity, { verb, type, namespace: '', name: '' })) return 'all';
    const namespaces: string[] = [];
    const names: GrantedName[] = [];
    const mentioned = asked.view.grant(identity, verb, type);
    const candidates = candidatesOf(asked.view, mentioned, verb, type);
    await inTurns(candidates, questionsAtOnce, async ({ question, granting }) => {
      const isAllowed = granting === undefined ? allowedWhole : allowed;
      if (!(await isAllowed(asked, identity, question))) return;
      if (granting === undefined) namespaces.push(question.namespace);
      else names.push(granting);
    });
    const cut = isCut(mentioned);
    return namespaces.length + names.length === 0 && !cut ? noGrant : makeGrant(namespaces, names, cut);
  };

  return {
    grant: async (question, identity, verb, type) => {
      const asked: Asked = { ...question, untilMs: Infinity };
      const listed = await granted(asked, identity, verb === 'watch' ? 'list' : verb, type);
      const grant =
        verb !== 'watch' || isNothing(listed)
          ? listed
          : intersectGrants(listed, await granted(asked, identity, 'watch', type));
      if (now() > (asked.byMs ?? Infinity)) throw unansweredYet(asked.record);
      return { grant, untilMs: asked.untilMs };
    },
  };
}

interface Candidate {
  readonly question: RowQuestion;
  /** The name to grant when the cluster says yes. Undefined: the question is about a whole namespace. */
  readonly granting: GrantedName | undefined;
}

function candidatesOf(view: RbacView, mentioned: Grant, verb: RowQuestion['verb'], type: ScopedType): Candidate[] {
  const found: Candidate[] = [];
  const isNamespace = type.group === '' && type.resource === 'namespaces';
  const namespaced = type.namespaced !== false && !isNamespace;
  if (namespaced) {
    for (const namespace of view.namespaces) {
      found.push({ question: { verb, type, namespace, name: '' }, granting: undefined });
    }
  }
  if (isNamespace && verb === 'get') {
    for (const name of view.namespaces) {
      found.push({ question: { verb, type, namespace: name, name }, granting: { namespace: undefined, name } });
    }
  }
  for (const granting of mentioned === 'all' ? [] : mentioned.names) {
    if (isNamespace && verb === 'get') continue;
    const { namespace, name } = granting;
    found.push({ question: { verb, type, namespace: namespace ?? '', name }, granting });
  }
  if (found.length > mostQuestions) {
    const why = `deciding who sees what takes ${found.length} questions to the cluster; if its RBAC is all that decides, label it search.portcullis.io/rights=rbac`;
    throw new GatewayError('CLUSTER_UNUSABLE', why);
  }
  return found;
}

/** The error of a question about rights that a cluster has not answered in time. */
export function unansweredYet({ spec }: ClusterRecord): GatewayError {
  const message = `cluster ${JSON.stringify(spec.name)} has not answered yet who may see what; try again`;
  return new GatewayError('MEMBER_TIMEOUT', message);
}

/** The spec of a SubjectAccessReview for one question. @param identity as the cluster sees it after impersonation */
export function accessReviewSpec(identity: User, { verb, type, namespace, name }: RowQuestion): AccessReviewSpec {
  const { name: user, uid, groups, extra } = identity;
  return {
    user,
    groups,
    ...(uid === '' ? {} : { uid }),
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
    resourceAttributes: { verb, group: type.group, resource: type.resource, namespace, name },
  };
}
