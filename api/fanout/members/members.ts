// Chooses the clusters for a request to many clusters, and sends the request to each of them in the same way as a
// request to one cluster. Security: a cluster that the caller may not reach is left out everywhere: it causes no error,
// it does not count as missing, and its name is never shown.
import { inTurns } from '../../../lib/concurrency/in-turns.ts';
import { isAsAuthorized } from '../../../auth/rules/authorize.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import { GatewayError } from '../../../model/errors.ts';
import type { User } from '../../../model/user.ts';
import { callMember } from '../../../routing/members/member-call.ts';
import type { MemberAnswer } from '../../../routing/members/member-call.ts';
import { locate } from '../../../routing/members/target.ts';
import type { Target } from '../../../routing/members/target.ts';
import type { RawHeaders } from '../../../http/raw-headers.ts';
import type { ClusterAccess } from '../../../request/cluster-access.ts';
import type { Authorized } from '../../../request/exchange.ts';
import type { FanoutDependencies } from './dependencies.ts';
import type { LabelMatcher } from '../../../query/selectors/label-matcher.ts';

/** How many clusters are asked at the same time for one request of a client. */
export const membersAtOnce = 16;
/** Number of clusters for which the caller's permission is checked at the same time. */
export const decisionsAtOnce = 32;
/** Milliseconds to wait for the headers of one cluster's answer; then the cluster counts as missing. */
const memberTimeoutMs = 10_000;

/**
 * Returns the user as whom a cluster is asked, by the same rules as in gateway/steps/impersonate.ts; `self` when the
 * gateway runs with `--identity=self`. Throws a GatewayError when the rules allow the caller no identity in the
 * cluster.
 */
export type IdentityFor = (cluster: ClusterSpec) => User | 'self';

/** A request that is sent to one cluster as part of a request to many clusters. */
export interface MemberQuestion {
  readonly method: string;
  /** Path and query on the cluster, for example `/api/v1/pods?watch=true`. */
  readonly path: string;
  readonly headers: RawHeaders;
  readonly body?: Buffer | undefined;
  readonly longRunning: boolean;
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

/** The clusters of a request to many clusters, and functions to send requests to them. */
export interface FanoutMembers {
  /**
   * The clusters that the selector selects and the caller may reach, sorted by name.
   * @throws GatewayError (rejects) HUB_UNAVAILABLE when the permission cannot be checked
   */
  permitted(selects: LabelMatcher | undefined): Promise<readonly ClusterSpec[]>;
  /**
   * Sends a request to one cluster. It counts as one of the cluster's concurrent requests until the answer has been
   * read or cancelled.
   * @throws GatewayError (rejects) as for a request to this cluster alone
   */
  ask(cluster: ClusterSpec, question: MemberQuestion): Promise<MemberAnswer>;
  readonly access: ClusterAccess;
  /**
   * For an open watch: calls `end` when the caller may no longer reach the cluster, or when the rules give the caller
   * another identity there.
   * @returns a function that stops the checks
   */
  follow(cluster: ClusterSpec, end: (reason: GatewayError) => void): () => void;
  /** Cancels all answers that have not been read to their end. */
  close(): void;
}

/**
 * Makes the {@link FanoutMembers} of one request.
 * @param identityFor called for each request to a cluster
 */
export function makeFanoutMembers(
  state: Authorized,
  dependencies: FanoutDependencies,
  identityFor: IdentityFor,
): FanoutMembers {
  const access = state.access!;
  const open = new Set<() => void>();
  return {
    access,
    async permitted(selects) {
      const selected = dependencies.clusters
        .list()
        .map(({ spec }) => spec)
        .filter(({ labels }) => selects === undefined || selects(labels));
      const answers = await inTurns(selected, decisionsAtOnce, (spec) => access.mayReach(spec));
      return selected.filter((_, i) => answers[i] === true).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    async ask(cluster, question) {
      const { longRunning } = question;
      const target = await locateJudged(cluster, access, dependencies);
      const leave = dependencies.admission.enterMember(state.user, cluster.name, longRunning ? 'stream' : 'request');
      const span = state.observation.trace?.toMember(question.headers, target.record.spec);
      try {
        const answer = await callMember(target, {
          ...question,
          headers: span?.headers ?? question.headers,
          identity: identityFor(target.record.spec),
          timeoutMs: question.timeoutMs ?? Math.min(memberTimeoutMs, dependencies.firstByteTimeoutMs),
          auditId: state.auditId,
          peerAddress: state.peer.address,
        });
        const over = (): void => {
          leave();
          span?.end(answer.status);
        };
        return released(answer, over, open);
      } catch (error) {
        leave();
        span?.end(0, error);
        throw error;
      }
    },
    follow(cluster, end) {
      const forget = access.follow(cluster, end);
      const { outgoingStreams } = dependencies;
      const outgoing = identityOrNone(identityFor, cluster);
      if (outgoingStreams === undefined || outgoing === undefined) return forget;
      const stream = { user: state.user, cluster, outgoing, end };
      outgoingStreams.follow(stream);
      return () => {
        forget();
        outgoingStreams.forget(stream);
      };
    },
    close() {
      for (const cancel of open) cancel();
    },
  };
}

/**
 * Returns the cluster with its present address and credential. Since the caller's right to the cluster was checked,
 * another cluster may have taken the name, or labels that authorization rules look at may have changed; after a change
 * of labels, the right is checked again.
 * @throws GatewayError (rejects) CLUSTER_NOT_FOUND when the name belongs to another cluster now, or the caller may no
 * longer reach the cluster
 */
async function locateJudged(
  cluster: ClusterSpec,
  access: ClusterAccess,
  dependencies: FanoutDependencies,
): Promise<Target> {
  for (let authorized = cluster; ;) {
    const target = await locate(cluster.name, dependencies.clusters.get, dependencies.connections);
    const { spec } = target.record;
    if (isAsAuthorized(authorized, spec)) return target;
    if (spec.uid !== cluster.uid || !(await access.mayReach(spec))) throw removed(cluster.name);
    authorized = spec;
  }
}

/**
 * The user as whom the cluster is asked. Undefined with `--identity=self`, and when the rules allow the caller no
 * identity in the cluster; in the latter case every request to the cluster fails.
 */
function identityOrNone(identityFor: IdentityFor, cluster: ClusterSpec): User | undefined {
  try {
    const identity = identityFor(cluster);
    return identity === 'self' ? undefined : identity;
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** The error for a cluster that was removed, or whose name now belongs to another cluster. */
export function removed(cluster: string): GatewayError {
  return new GatewayError('CLUSTER_NOT_FOUND', `cluster "${cluster}" was removed`, { cluster });
}

function released(answer: MemberAnswer, leave: () => void, open: Set<() => void>): MemberAnswer {
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    open.delete(cancel);
    leave();
  };
  const cancel = (): void => {
    answer.cancel();
    close();
  };
  open.add(cancel);
  async function* chunks(): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* answer.chunks;
    } finally {
      close();
    }
  }
  return { status: answer.status, headers: answer.headers, chunks: chunks(), cancel };
}
