// Finds what the gateway itself lets a caller read of a cluster. Its authorizer is asked as for a request through
// `/clusters/<name>/proxy`. Each request to the authorizer carries the cluster's own name, so a rule for the name `*`,
// which is for requests that go to every cluster at once, lets nobody reach a single cluster. An error of the
// authorizer rejects the whole result.
import type { Attributes } from '../auth/rules/attributes.ts';
import type { AttributesOuter } from '../auth/rules/attributes.ts';
import type { AuthorityHints, Decision } from '../auth/rules/authorize.ts';
import type { ClusterSpec } from '../model/records.ts';
import type { User } from '../model/user.ts';
import { intersectGrants, isNothing, makeGrant, noGrant } from '../query/scope/grants.ts';
import type { GrantedName } from '../query/scope/grants.ts';
import { anyName } from './rbac/rbac.ts';
import type { RowVerb, ScopedType } from './rbac/rbac-view.ts';
import type { Grant } from '../query/scope/scope.ts';

/** The methods of the gateway's authorizer that are used here. */
export interface Gatekeeper {
  /**
   * Decides whether a request with these attributes is allowed.
   * @throws GatewayError (or rejects) with code HUB_UNAVAILABLE when the hub that decides cannot be asked
   */
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  /**
   * The authorizer may refuse a request for all objects of a type and still allow it for one namespace or name. Returns
   * the namespaces and names for which that is possible. Without this method, it is possible for each one.
   */
  hints?(attributes: Attributes): AuthorityHints;
  /** A number that changes when decisions may change, as `generation` of an `Authorizer`. */
  generation?(): number;
}

/** The objects of a type that the gateway lets a user read from a cluster, and until when this result is valid. */
export interface Reach {
  readonly grant: Grant;
  /**
   * In `performance.now()` milliseconds: the result holds until then, provided that the authorizer's generation and the
   * candidates stay the same. 0 when it cannot be known.
   */
  readonly untilMs: number;
}

/** The question: what may this user read of this type in this cluster? */
export interface ReachQuestion {
  readonly user: User;
  readonly cluster: Pick<ClusterSpec, 'name' | 'uid' | 'labels'>;
  readonly verb: RowVerb;
  readonly type: ScopedType & { readonly version: string };
  /**
   * Namespaces and names to try one by one, when the authorizer allows only parts and cannot list them. Objects in
   * other namespaces or with other names are not shown.
   */
  readonly candidates: () => Candidates;
}

/** Namespaces, and names of objects of one type, about which the authorizer is asked one by one. */
export interface Candidates {
  readonly namespaces: Iterable<string>;
  readonly names: Iterable<string>;
}

/**
 * The gateway's resource for which requests to a cluster are authorized. The gateway serves such requests in two API
 * groups with the same rights; this is the gateway's own group.
 */
const outer: AttributesOuter = {
  group: 'gateway.portcullis.io',
  version: 'v1alpha1',
  resource: 'clusters',
  httpVerb: 'get',
};
/** The most questions to the authorizer for one result. Objects that would need more questions are not shown. */
const mostQuestions = 20_000;
const questionsAtOnce = 64;

/**
 * The objects of one type that the gateway would let this user request from the cluster.
 * @throws GatewayError (rejects) when the authorizer cannot answer
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

/**
 * The allowed objects for one verb.
 * @param time its `untilMs` is lowered to the earliest expiry of any decision used
 */
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
  // For a get of any object, the authorizer is also asked about a name that no object has. Rules on a hub can allow the
  // empty name alone, and that is no right to get objects. Rules of a configuration file cannot, so for those the first
  // answer is enough.
  const allowsWhole = async (namespace: string): Promise<boolean> =>
    (await allows(namespace, '')) && (verb !== 'get' || hintsOf() !== 'anywhere' || (await allows(namespace, anyName)));
  if (await allowsWhole('')) return 'all';

  const hints = hintsOf();
  const found = hints === 'anywhere' ? question.candidates() : hints;
  const candidates = { namespaces: new Set(found.namespaces), names: new Set(found.names) };
  const asks = questionsOf(question.type, verb, candidates);

  const namespaces: string[] = [];
  const names: GrantedName[] = [];
  let asked = 0;
  let isCut = false;
  const askNext = async (): Promise<void> => {
    for (const each of asks) {
      asked += 1;
      if (asked > mostQuestions) {
        isCut = true;
        return;
      }
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
  return namespaces.length + names.length === 0 && !isCut ? noGrant : makeGrant(namespaces, names, isCut);
}

/** One question to the authorizer: about one object, or about all objects of a namespace. */
interface Asked extends GrantedName {
  /**
   * The namespace in the request to the authorizer; '' for none. The inherited `namespace` is that of the object whose
   * name is granted when the answer is yes.
   */
  readonly asked: string;
  readonly whole: boolean;
}

/** The questions to the authorizer about these namespaces and names, each once. */
function* questionsOf(
  type: ReachQuestion['type'],
  verb: string,
  candidates: { readonly namespaces: ReadonlySet<string>; readonly names: ReadonlySet<string> },
): Generator<Asked> {
  const isNamespace = type.group === '' && type.resource === 'namespaces';
  if (isNamespace && verb === 'get') {
    // Kubernetes treats a get of one Namespace as a request inside that namespace.
    for (const name of candidates.namespaces.union(candidates.names))
      yield { namespace: undefined, name, asked: name, whole: false };
    return;
  }
  const inNamespaces = type.namespaced !== false && !isNamespace;
  if (inNamespaces) {
    for (const namespace of candidates.namespaces) yield { namespace, name: '', asked: namespace, whole: true };
  }
  for (const name of candidates.names) {
    yield { namespace: undefined, name, asked: '', whole: false };
    if (!inNamespaces) continue;
    for (const namespace of candidates.namespaces) yield { namespace, name, asked: namespace, whole: false };
  }
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
