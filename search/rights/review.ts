// Asks members who may see what, for clusters that decide by more than RBAC: SubjectAccessReviews with the gateway's
// own credential and the identity in the spec. A SubjectAccessReview adds no groups by itself, so the spec names the
// identity as it is after impersonation. An error is no answer: it is not remembered, and it hides the cluster.
import { makeIdentityNumbers } from '../../auth/callers/identity-key.ts';
import { makeReviewCache } from '../../auth/reviews/review-cache.ts';
import type { Reviewed } from '../../auth/reviews/review-cache.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterRecord } from '../../cache/model/records.ts';
import type { User } from '../../cache/model/user.ts';
import { intersectGrants, isNothing, makeGrant, noGrant } from './grants.ts';
import type { GrantedName } from './grants.ts';
import { anyName } from './rbac.ts';
import type { RbacView, RowVerb, ScopedType } from './rbac-view.ts';
import type { Grant } from './scope.ts';

/** authorization.k8s.io/v1 SubjectAccessReviewSpec. */
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

/** Questions to members about rights. Both reject with a GatewayError when there is no answer. */
export interface MemberReviews {
  /** POST subjectaccessreviews as the gateway's own credential; `status.allowed` and not `status.denied`. */
  isAllowed(record: ClusterRecord, spec: AccessReviewSpec): Promise<boolean>;
  /**
   * `status.incomplete` of a SelfSubjectRulesReview of a namespace that impersonates one of the gateway's own names.
   */
  isIncomplete(record: ClusterRecord): Promise<boolean>;
}

/** One question of {@link Reviewer.allowed}. */
export interface RowQuestion {
  readonly verb: 'get' | 'list' | 'watch';
  readonly type: ScopedType;
  /** '' for all namespaces, and for cluster-scoped objects. */
  readonly namespace: string;
  /** '' for all names. */
  readonly name: string;
}

/** A grant, and until when the answers it was made from count. */
export interface TimedGrant {
  readonly grant: Grant;
  /** `performance.now()` milliseconds. */
  readonly untilMs: number;
}

/** Asks members and remembers their answers for seconds. */
export interface Reviewer {
  /**
   * Rows the member says this identity may see. Namespaces and names to ask about come from the mirror:
   * all Namespaces, and the names that RBAC mentions for the identity; each is decided by the member.
   * @param identity as the member sees it after impersonation
   * @throws GatewayError (rejects) when the member does not answer a question
   */
  grant(
    asked: { readonly record: ClusterRecord; readonly incarnation: string; readonly view: RbacView },
    identity: User,
    verb: RowVerb,
    type: ScopedType,
  ): Promise<TimedGrant>;
}

export interface ReviewerOptions {
  readonly reviews: Pick<MemberReviews, 'isAllowed'>;
  /** How long answers count, from the question on. */
  readonly ttlMs?: number;
  /** Milliseconds of any clock that never goes back. */
  readonly now?: () => number;
}

interface Answer {
  readonly allowed: boolean;
  readonly untilMs: number;
}

const cacheLimits = { maxEntries: 200_000, maxKeyLength: 48 * 1024 * 1024, maxPending: 20_000 };
const defaultTtlMs = 10_000;
/** To one member at a time, for one scope. */
const questionsAtOnce = 16;
/** Of one scope; a scope that needs more is refused, since a part would look complete. */
const mostQuestions = 20_000;

export function makeReviewer(options: ReviewerOptions): Reviewer {
  const { reviews, ttlMs = defaultTtlMs, now = () => performance.now() } = options;
  const numberOf = makeIdentityNumbers();
  const answers = makeReviewCache<Answer>({ ...cacheLimits, now });

  /** `untilMs` falls to that of the answer that counts least long. */
  type Asked = Parameters<Reviewer['grant']>[0] & { untilMs: number };
  const allowed = async (asked: Asked, identity: User, question: RowQuestion): Promise<boolean> => {
    const { record, incarnation } = asked;
    const { verb, type, namespace, name } = question;
    const parts = [numberOf(identity), incarnation, verb, type.group, type.resource, namespace, name];
    const key = JSON.stringify(parts);
    const known = answers.known(key);
    const spec = accessReviewSpec(identity, question);
    const review = async (): Promise<Reviewed<Answer>> => {
      const untilMs = now() + ttlMs;
      return { answer: { allowed: await reviews.isAllowed(record, spec), untilMs }, ttlMs };
    };
    const answer = known ?? (await answers.ask(key, review));
    asked.untilMs = Math.min(asked.untilMs, answer.untilMs);
    return answer.allowed;
  };

  /** Every object of all namespaces or of one. */
  const allowedWhole = async (asked: Asked, identity: User, question: RowQuestion): Promise<boolean> => {
    if (!(await allowed(asked, identity, question))) return false;
    return question.verb !== 'get' || (await allowed(asked, identity, { ...question, name: anyName }));
  };

  const granted = async (asked: Asked, identity: User, verb: RowQuestion['verb'], type: ScopedType): Promise<Grant> => {
    if (await allowedWhole(asked, identity, { verb, type, namespace: '', name: '' })) return 'all';
    const namespaces: string[] = [];
    const names: GrantedName[] = [];
    const candidates = candidatesOf(asked.view, identity, verb, type);
    await eachOf(candidates, questionsAtOnce, async ({ question, granting }) => {
      const isAllowed = granting === undefined ? allowedWhole : allowed;
      if (!(await isAllowed(asked, identity, question))) return;
      if (granting === undefined) namespaces.push(question.namespace);
      else names.push(granting);
    });
    return namespaces.length + names.length === 0 ? noGrant : makeGrant(namespaces, names);
  };

  return {
    grant: async (question, identity, verb, type) => {
      const asked: Asked = { ...question, untilMs: Infinity };
      const listed = await granted(asked, identity, verb === 'watch' ? 'list' : verb, type);
      const grant =
        verb !== 'watch' || isNothing(listed)
          ? listed
          : intersectGrants(listed, await granted(asked, identity, 'watch', type));
      return { grant, untilMs: asked.untilMs };
    },
  };
}

interface Candidate {
  readonly question: RowQuestion;
  /** Undefined: the whole namespace. */
  readonly granting: GrantedName | undefined;
}

function candidatesOf(view: RbacView, identity: User, verb: RowQuestion['verb'], type: ScopedType): Candidate[] {
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
  const mentioned = view.grant(identity, verb, type);
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

/** The spec for one question, about an identity as the member sees it. */
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

/** Runs so many at once; the first error ends it. */
async function eachOf<T>(items: readonly T[], atOnce: number, run: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const item = items[next]!;
      next += 1;
      try {
        await run(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
}
