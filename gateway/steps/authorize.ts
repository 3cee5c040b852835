// Step 8 of the chain: checks whether the caller may impersonate another user, if the request has impersonation headers
// (`--as`), and whether the resulting user may make this request. Every part of an impersonated identity (user, groups,
// extra) must be allowed. Security: later steps get headers without the caller's credential and without impersonation
// headers.
import { forbidden } from '../../auth/rules/authorize.ts';
import type { Attributes } from '../../auth/rules/attributes.ts';
import type { AttributesOuter } from '../../auth/rules/attributes.ts';
import { impersonatedUser, impersonationChecks, readImpersonation } from '../../auth/rules/impersonation.ts';
import { authenticatedGroup } from '../../auth/callers/reserved.ts';
import { GatewayError } from '../../model/errors.ts';
import { isRepeated, markRepeated, readOnce } from '../../http/repeated-headers.ts';
import type { ClusterSpec } from '../../model/records.ts';
import type { User } from '../../model/user.ts';
import { rememberingNames } from '../../http/header-names.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ClusterAccess } from '../../request/cluster-access.ts';
import { authorized } from '../../request/exchange.ts';
import type { Authenticated, Authorized, Observation } from '../../request/exchange.ts';
import { endStream } from '../open-streams/ended-streams.ts';
import { isOpenHealth } from '../../api/health.ts';
import { decodedPath } from '../../request/path.ts';
import { methodVerb, requestInfo } from '../../request/request-info.ts';
import { attributesOf } from '../../request/attributes.ts';
import type { ChainDependencies } from './chain-dependencies.ts';
import { innerInfo, innerSegments } from '../../request/proxying-request.ts';
import type { InnerSurface } from '../../request/index-groups.ts';
import { clustersResource, namesEveryCluster } from '../../request/routes.ts';
import type { OuterResource, Surface } from '../../request/routes.ts';
import type { ReviewedStream } from '../open-streams/stream-reviews.ts';
import { authenticationRequest } from './authenticate.ts';

export function authorize(state: Authenticated, dependencies: ChainDependencies): Authorized | Promise<Authorized> {
  const { caller, inbound, surface } = state;
  const requested = readImpersonation(inbound.headers);
  const authorizedCluster = clusterOf(state, dependencies);
  const authorizedAs = (user: User, access?: ClusterAccess): Authorized =>
    authorized(state, user, withoutCredentials(inbound.headers), access, authorizedCluster);
  // Plain health checks are open to everybody and not authorized, so impersonation headers have no effect on them.
  if (isOpenHealth(surface, state.target.query)) return authorizedAs(caller);

  const user = requested === undefined ? caller : impersonatedUser(requested, caller.origin);
  const questionsOn = (cluster: Attributes['cluster']): Attributes[] => {
    const asked = questionsFor(state, user, cluster);
    return requested === undefined ? asked : [...impersonationChecks(requested, caller, cluster), ...asked];
  };
  const questions = (): Attributes[] => questionsOn(clusterOf(state, dependencies));
  return everyAllowed(questionsOn(authorizedCluster), dependencies, state.observation, () => {
    if (state.observation.longRunning) reviewWhileOpen(state, questions, dependencies);
    const isForSeveral = namesEveryCluster(surface) || isInClusters(surface) || isStatistics(surface);
    return authorizedAs(user, isForSeveral ? accessOf(state, questionsOn, dependencies) : undefined);
  });
}

/**
 * Used in place of `authorize` when the gateway runs with `--identity=self`. Security: clusters see only the owner of
 * the kubeconfig, so a request with `--as` would run with the owner's rights. It is refused, whatever the rules say.
 */
export function authorizeAsSelf(
  state: Authenticated,
  dependencies: ChainDependencies,
): Authorized | Promise<Authorized> {
  if (readImpersonation(state.inbound.headers) === undefined) return authorize(state, dependencies);
  throw new GatewayError(
    'FORBIDDEN',
    'with --identity=self every request goes out as the owner of the kubeconfig, so nobody can be impersonated: use --as with that kubeconfig itself',
  );
}

/**
 * Whether the request is for the index and its URL ends in the path of a Kubernetes API, such as `/api/v1/pods`. Such a
 * request may be sent to any cluster.
 */
function isInClusters(surface: Surface): surface is InnerSurface {
  return surface.kind === 'index' && 'segments' in surface;
}

/** Whether the request is for `statistics`, which show a caller only the clusters that the caller may reach. */
function isStatistics(surface: Surface): boolean {
  return surface.kind === 'resource' && surface.plural === 'statistics';
}

/**
 * Permission checks for a request that may go to any cluster (`*`, paths of the index, or `statistics`): each cluster
 * is authorized as if the request had named it.
 */
function accessOf(
  state: Authenticated,
  questionsOn: (cluster: Attributes['cluster']) => Attributes[],
  dependencies: ChainDependencies,
): ClusterAccess {
  const { authorizer, streamReviews, clusters } = dependencies;
  const request = authenticationRequest(state);
  const { caller } = state;
  // A watch of several clusters begins with a list in each, and lists again when a watch has expired.
  const questionsAt = ({ name, uid, labels }: ClusterSpec): Attributes[] =>
    questionsOn({ name, uid, labels }).flatMap((question) =>
      question.verb === 'watch' ? [question, { ...question, verb: 'list' }] : [question],
    );
  return {
    async mayReach(cluster) {
      for (const question of questionsAt(cluster)) {
        const decision = authorizer.authorize(question);
        if (!(decision instanceof Promise ? await decision : decision).allowed) return false;
      }
      return true;
    },
    follow(cluster, end) {
      if (streamReviews === undefined) return () => {};
      // Labels of the cluster may change while the stream is open, so each check uses the present labels.
      const now = (): ClusterSpec => clusters.get(cluster.name)?.spec ?? cluster;
      const stream: ReviewedStream = { request, caller, questions: () => questionsAt(now()), end };
      streamReviews.follow(stream);
      return () => streamReviews.forget(stream);
    },
  };
}

/**
 * Checks the caller's rights regularly while a stream is open. Security: the checks need the caller's credential; it is
 * kept only in this closure, where later steps cannot read it.
 */
function reviewWhileOpen(state: Authenticated, questions: () => Attributes[], dependencies: ChainDependencies): void {
  const { streamReviews } = dependencies;
  if (streamReviews === undefined) return;
  const { inbound, caller, observation, progress } = state;
  const stream: ReviewedStream = {
    request: authenticationRequest(state),
    caller,
    questions,
    end(reason) {
      // Before the answer has begun, there is no stream to end. The next regular check asks for the rights again.
      if (!inbound.answered && progress.status !== 101) return;
      observation.error = reason;
      endStream(progress.open ?? inbound, reason);
    },
  };
  streamReviews.follow(stream);
  inbound.onClose(() => streamReviews.forget(stream));
}

/**
 * The cluster in the path, in the form that authorization rules are matched with. A name that no cluster has is used
 * without labels; the step `locate` answers 404 for it.
 */
function clusterOf(state: Authenticated, dependencies: ChainDependencies): Attributes['cluster'] {
  if (state.surface.kind !== 'member') return undefined;
  const { cluster: name } = state.surface;
  const spec = dependencies.clusters.get(name)?.spec;
  return { name, uid: spec?.uid ?? '', labels: spec?.labels ?? {} };
}

/** A path on clusters that needs no other right than the one to use the cluster. */
const versionPath = '/version';
const versionRequest = requestInfo('GET', ['version'], '', false);
const openToAuthenticated: ReadonlySet<string> = new Set(['discovery', 'openapi', 'self-review']);

/**
 * The permission checks that a request needs; empty when everybody may make the request. As in Kubernetes, everybody
 * may read the version (system:public-info-viewer), and authenticated users may read discovery and OpenAPI
 * (system:discovery) and ask who they are (system:basic-user).
 */
function questionsFor(state: Authenticated, user: User, cluster: Attributes['cluster']): Attributes[] {
  const { surface, info } = state;
  if (surface.kind === 'version') return [];
  if (openToAuthenticated.has(surface.kind) && user.groups.includes(authenticatedGroup)) return [];
  if (isInClusters(surface) && cluster !== undefined) {
    const path =
      surface.part === 'proxying'
        ? decodedPath(surface.path, surface.segments)
        : `/${innerSegments(surface).join('/')}`;
    return [
      attributesOf(user, cluster, outerOf(clustersResource, state.inbound.method), innerInfo(state, surface), path),
    ];
  }
  if (isStatistics(surface) && cluster !== undefined) {
    return [attributesOf(user, cluster, outerOf(clustersResource, 'GET'), versionRequest, versionPath)];
  }
  const { path, segments } = surface.kind === 'member' ? surface : state.target;
  const outer = surface.kind === 'member' ? outerOf(surface.outer, state.inbound.method) : undefined;
  return [attributesOf(user, cluster, outer, info, decodedPath(path, segments))];
}

function outerOf({ group, version, resource }: OuterResource, method: string): AttributesOuter {
  return { group, version, resource, httpVerb: methodVerb(method) };
}

function everyAllowed<T>(
  questions: readonly Attributes[],
  dependencies: ChainDependencies,
  observation: Observation,
  done: () => T,
  from = 0,
): T | Promise<T> {
  for (let i = from; i < questions.length; i++) {
    const attributes = questions[i]!;
    const decision = dependencies.authorizer.authorize(attributes);
    if (decision instanceof Promise) {
      return decision.then((later) => {
        observation.authorization = later;
        if (!later.allowed) throw forbidden(attributes, later.reason);
        return everyAllowed(questions, dependencies, observation, done, i + 1);
      });
    }
    observation.authorization = decision;
    if (!decision.allowed) throw forbidden(attributes, decision.reason);
  }
  return done();
}

/** Security: matches the names of headers that later steps must not see, with `-` or `_`, in upper or lower case. */
const secretHeader = /^(?:authorization$|cookie$|proxy[-_]authorization$|impersonate|x[-_]remote)/i;
const isSecretHeader = rememberingNames((name) => secretHeader.test(name));

const withoutCredentials = readOnce((headers: RawHeaders): RawHeaders => {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (!isSecretHeader(headers[i]!)) kept.push(headers[i]!, headers[i + 1]!);
  }
  if (isRepeated(headers)) markRepeated(kept);
  return kept;
});
