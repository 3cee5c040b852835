// What the gateway itself lets a caller read of a cluster: the same questions to the same authorizer as for a request
// through `/clusters/<name>/proxy`. The question always carries the cluster's own name, so that a grant on the name
// `*`, which is the fan-out, opens no cluster. An error of the authorizer ends the whole question.
import type { Attributes } from '../../auth/rules/attributes.ts';
import type { AttributesOuter } from '../../auth/rules/attributes.ts';
import type { AuthorityHints, Decision } from '../../auth/rules/authorize.ts';
import type { ClusterSpec } from '../../cache/model/records.ts';
import type { User } from '../../cache/model/user.ts';
import { intersectGrants, isNothing, makeGrant, noGrant } from './grants.ts';
import type { GrantedName } from './grants.ts';
import { anyName } from './rbac.ts';
import type { RowVerb, ScopedType } from './rbac-view.ts';
import type { Grant } from './scope.ts';

/** The gateway's authorizer. */
export interface Gatekeeper {
  /** @throws GatewayError HUB_UNAVAILABLE (or rejects) when there is nobody to ask */
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  /** Namespaces and names for which it may allow what it refuses for all; absent: any. */
  hints?(attributes: Attributes): AuthorityHints;
  /** As `generation` of an `Authorizer`. */
  generation?(): number;
}

/** What the gateway allows. */
export interface Reach {
  readonly grant: Grant;
  /**
   * `performance.now()` milliseconds up to which it stays so, while the gatekeeper's generation and the candidates
   * stay; 0 when nobody knows.
   */
  readonly untilMs: number;
}

/** A user, a cluster and a type. */
export interface ReachQuestion {
  readonly user: User;
  readonly cluster: Pick<ClusterSpec, 'name' | 'uid' | 'labels'>;
  readonly verb: RowVerb;
  readonly type: ScopedType & { readonly version: string };
  /**
   * Namespaces and names to ask about where the authorizer may allow parts but does not list them; others are not
   * shown.
   */
  readonly candidates: () => Candidates;
}

/** Namespaces, and names of objects of one type. */
export interface Candidates {
  readonly namespaces: Iterable<string>;
  readonly names: Iterable<string>;
}

/** Requests to a cluster arrive by one of two APIs with the same rights; this one is our own. */
const outer: AttributesOuter = {
  group: 'gateway.portcullis.io',
  version: 'v1alpha1',
  resource: 'clusters',
  httpVerb: 'get',
};
/** After this many questions nothing more is asked, and so nothing more is shown. */
const mostQuestions = 20_000;
const questionsAtOnce = 64;

/**
 * Rows of one type that the gateway would let this user ask the cluster for.
 * @throws GatewayError (rejects) as the authorizer does
 */
export async function reachOf(gatekeeper: Gatekeeper, question: ReachQuestion): Promise<Reach> {
  const time = { untilMs: gatekeeper.generation === undefined ? 0 : Infinity };
  const { verb } = question;
  const listed = await reachWith(gatekeeper, question, verb === 'watch' ? 'list' : verb, time);
  const grant =
    verb !== 'watch' || isNothing(listed)
      ? listed
      : intersectGrants(listed, await reachWith(gatekeeper, question, 'watch', time));
  return { grant, untilMs: time.untilMs };
}

/** @param time its `untilMs` falls to that of the decision that counts least long */
async function reachWith(
  gatekeeper: Gatekeeper,
  question: ReachQuestion,
  verb: string,
  time: { untilMs: number },
): Promise<Grant> {
  const read = ({ allowed, untilMs = Infinity }: Decision): boolean => {
    time.untilMs = Math.min(time.untilMs, untilMs);
    return allowed;
  };
  const allows = (namespace: string, name: string): boolean | Promise<boolean> => {
    const decision = gatekeeper.authorize(attributesOf(question, verb, namespace, name));
    return decision instanceof Promise ? decision.then(read) : read(decision);
  };
  let given: AuthorityHints | undefined;
  const hintsOf = (): AuthorityHints =>
    (given ??= gatekeeper.hints?.(attributesOf(question, verb, '', '')) ?? 'anywhere');
  // Rules of a file have no empty names; those of a hub may.
  const allowsWhole = async (namespace: string): Promise<boolean> =>
    (await allows(namespace, '')) && (verb !== 'get' || hintsOf() !== 'anywhere' || (await allows(namespace, anyName)));
  if (await allowsWhole('')) return 'all';

  const hints = hintsOf();
  const found = hints === 'anywhere' ? question.candidates() : hints;
  const candidates = { namespaces: new Set(found.namespaces), names: new Set(found.names) };
  const isNamespace = question.type.group === '' && question.type.resource === 'namespaces';
  const asks = (function* (): Generator<GrantedName & { readonly asked: string; readonly whole: boolean }> {
    if (isNamespace && verb === 'get') {
      // A request for one Namespace is a request in it.
      for (const name of candidates.namespaces.union(candidates.names))
        yield { namespace: undefined, name, asked: name, whole: false };
      return;
    }
    const inNamespaces = question.type.namespaced !== false && !isNamespace;
    if (inNamespaces) {
      for (const namespace of candidates.namespaces) yield { namespace, name: '', asked: namespace, whole: true };
    }
    for (const name of candidates.names) {
      yield { namespace: undefined, name, asked: '', whole: false };
      if (!inNamespaces) continue;
      for (const namespace of candidates.namespaces) yield { namespace, name, asked: namespace, whole: false };
    }
  })();

  const namespaces: string[] = [];
  const names: GrantedName[] = [];
  let asked = 0;
  const askNext = async (): Promise<void> => {
    for (const each of asks) {
      asked += 1;
      if (asked > mostQuestions) return;
      if (each.whole) {
        if (await allowsWhole(each.asked)) namespaces.push(each.asked);
        continue;
      }
      const answer = allows(each.asked, each.name);
      if (typeof answer === 'boolean' ? answer : await answer)
        names.push({ namespace: each.namespace, name: each.name });
    }
  };
  await Promise.all(Array.from({ length: questionsAtOnce }, askNext));
  return namespaces.length + names.length === 0 ? noGrant : makeGrant(namespaces, names);
}

function attributesOf(
  { user, cluster, type }: ReachQuestion,
  verb: string,
  namespace: string,
  name: string,
): Attributes {
  return {
    user,
    verb,
    cluster: { name: cluster.name, uid: cluster.uid, labels: cluster.labels },
    outer,
    resourceRequest: true,
    apiGroup: type.group,
    apiVersion: type.version,
    resource: type.resource,
    subresource: '',
    namespace,
    name,
    path: '',
  };
}
