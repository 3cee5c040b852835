// Compares some decisions made by copied RBAC with the cluster's own answer, to find authorizers that the cluster has
// not reported. The copy lags behind the cluster a little, so a difference counts only if it shows up several times,
// each time after the copy was confirmed again as up to date.
import type { ClusterRecord } from '../model/records.ts';
import type { User } from '../model/user.ts';
import { grantAllows, isCut } from '../query/scope/grants.ts';
import { anyName } from './rbac/rbac.ts';
import type { RbacView, RowVerb, ScopedType } from './rbac/rbac-view.ts';
import { accessReviewSpec } from './review.ts';
import type { MemberReviews, RowQuestion } from './review.ts';
import type { Grant } from '../query/scope/scope.ts';

/** A decision that copied RBAC has just made. */
export interface Sampled {
  readonly record: ClusterRecord;
  readonly incarnation: string;
  readonly view: RbacView;
  /** The identity as the cluster sees it after impersonation. */
  readonly identity: User;
  readonly verb: RowVerb;
  readonly type: ScopedType;
}

/** `unanswered`: the cluster did not answer, or the copy of its RBAC was not confirmed again as up to date in time. */
export type SampleResult = 'agreed' | 'mismatch' | 'unanswered';

export interface SamplesOptions {
  readonly reviews: Pick<MemberReviews, 'isAllowed'>;
  /** Share of decisions that are compared, from 0 to 1. */
  readonly rate: number;
  /**
   * Returns when the copied RBAC of the incarnation was last known to be up to date, in Unix milliseconds; 0 for never.
   */
  readonly confirmedAtMs: (incarnation: string) => Promise<number>;
  /** Resolves when the copied RBAC includes everything the index has. */
  readonly current: () => Promise<void>;
  readonly onMismatch: (sampled: Sampled, message: string) => void;
  readonly onResult?: (cluster: string, result: SampleResult) => void;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  readonly random?: () => number;
  readonly wait?: (ms: number) => Promise<void>;
}

const differencesToBelieve = 3;
const confirmationPollMs = 2_000;
/**
 * How often it is checked whether the copy of the RBAC was confirmed again, until the comparison ends as `unanswered`:
 * for four minutes. Bookmarks of a watch confirm the copy about once a minute.
 */
const mostPolls = 120;

/**
 * Makes a function that compares some of the decisions it gets. It works in the background and never throws; the
 * promise is undefined when the decision is not compared.
 */
export function makeSamples(options: SamplesOptions): (sampled: Sampled) => Promise<void> | undefined {
  const { reviews, confirmedAtMs, now } = options;
  const random = options.random ?? Math.random;
  const wait = options.wait ?? ((ms) => new Promise<void>((resolve) => void setTimeout(resolve, ms).unref()));
  const busy = new Set<string>();

  const compare = async (sampled: Sampled): Promise<SampleResult> => {
    const { record, incarnation, view, identity, verb, type } = sampled;
    const asked = verb === 'watch' ? 'list' : verb;
    const question = questionAbout(view.grant(identity, asked, type), view, asked, type, random);
    const spec = accessReviewSpec(identity, question);
    for (let differences = 0; ;) {
      const askedAtMs = now();
      const said = await reviews.isAllowed(record, spec);
      await options.current();
      const grant = view.grant(identity, asked, type);
      const evaluated = answers(grant, question);
      if (said === evaluated) return 'agreed';
      // Objects that are left out of a grant are allowed by the cluster, and that is no fault of the copy.
      if (said && isCut(grant)) return 'agreed';
      differences += 1;
      if (differences === differencesToBelieve) {
        options.onMismatch(sampled, mismatchMessage(record, question, said));
        return 'mismatch';
      }
      for (let polls = 0; (await confirmedAtMs(incarnation)) <= askedAtMs; polls++) {
        if (polls === mostPolls) return 'unanswered';
        await wait(confirmationPollMs);
      }
    }
  };

  return (sampled) => {
    if (random() >= options.rate || busy.has(sampled.incarnation)) return undefined;
    busy.add(sampled.incarnation);
    return compare(sampled)
      .catch((): SampleResult => 'unanswered')
      .then((result) => {
        busy.delete(sampled.incarnation);
        options.onResult?.(sampled.record.spec.name, result);
      });
  };
}

/**
 * Picks an access at random, about which the cluster is asked: one that the grant clearly allows or clearly does not.
 */
function questionAbout(
  grant: Grant,
  view: RbacView,
  verb: RowQuestion['verb'],
  type: ScopedType,
  random: () => number,
): RowQuestion {
  const whole: RowQuestion = { verb, type, namespace: '', name: verb === 'get' ? anyName : '' };
  if (grant === 'all') return whole;
  const isNamespace = type.group === '' && type.resource === 'namespaces';
  const candidates: RowQuestion[] = [whole];
  const pick = <T>(items: readonly T[], use: (item: T) => RowQuestion): void => {
    if (items.length > 0) candidates.push(use(items[Math.floor(random() * items.length)]!));
  };
  pick(grant.names, ({ namespace, name }) => {
    return { ...whole, namespace: namespace ?? (isNamespace && verb === 'get' ? name : ''), name };
  });
  if (type.namespaced === true && !isNamespace) {
    pick(grant.namespaces, (namespace) => ({ ...whole, namespace }));
    pick([...view.namespaces], (namespace) => ({ ...whole, namespace }));
  }
  return candidates[Math.floor(random() * candidates.length)]!;
}

/**
 * Whether the grant allows what the question is about. A request for one name in all namespaces needs a grant of that
 * name in all of them.
 */
function answers(grant: Grant, { namespace, name, type }: RowQuestion): boolean {
  if (grant === 'all') return true;
  if (name === '' || name === anyName) return namespace !== '' && grant.namespaces.includes(namespace);
  if (type.group === '' && type.resource === 'namespaces') return grantAllows(grant, '', name);
  if (namespace !== '') return grantAllows(grant, namespace, name);
  return grant.names.some((granted) => granted.namespace === undefined && granted.name === name);
}

function mismatchMessage(record: ClusterRecord, { verb, type, namespace, name }: RowQuestion, said: boolean): string {
  const what = `${verb} ${type.resource}${type.group === '' ? '' : `.${type.group}`}`;
  const where = `${namespace === '' ? '' : ` in namespace ${JSON.stringify(namespace)}`}${name === '' ? '' : ` named ${JSON.stringify(name)}`}`;
  return (
    `cluster ${JSON.stringify(record.spec.name)} ${said ? 'allows' : 'refuses'} somebody to ${what}${where}, its mirrored RBAC says the opposite: ` +
    'from now on it is asked by SubjectAccessReview; look for authorizers beside RBAC in its API server'
  );
}
