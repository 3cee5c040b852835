// Chooses the clusters of a fan-out and asks each with the functions of a request to that cluster alone. A cluster the
// caller may not reach is left out everywhere: it is no error, it does not count as missing, and its name is never
// shown.
import { isAsJudged } from '../../auth/rules/authorize.ts';
import type { ClusterSpec } from '../../cache/model/records.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { User } from '../../cache/model/user.ts';
import { callMember } from '../../routing/members/member-call.ts';
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import { locate } from '../../routing/members/target.ts';
import type { Target } from '../../routing/members/target.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ClusterAccess } from '../start/cluster-access.ts';
import type { Authorized } from '../exchange.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';
import type { LabelMatcher } from '../api/clusters/selectors.ts';

/** Members that one request asks at the same time. */
export const membersAtOnce = 16;
/** Questions to the authorizer that one request asks at the same time. */
const decisionsAtOnce = 32;
/** Longest wait for the head of one member's answer. */
const memberTimeoutMs = 10_000;

/** The user a cluster is asked as, by the rules of the `impersonate` step; `self` with `--identity=self`. */
export type IdentityFor = (cluster: ClusterSpec) => User | 'self';

/** A request to a member. */
export interface MemberQuestion {
  readonly method: string;
  /** Path and query as the member knows them. */
  readonly path: string;
  readonly headers: RawHeaders;
  readonly body?: Buffer | undefined;
  readonly longRunning: boolean;
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

/** The clusters of one exchange. */
export interface FanoutMembers {
  /** Selected clusters that the caller may reach, by name. @throws GatewayError HUB_UNAVAILABLE */
  permitted(selects: LabelMatcher | undefined): Promise<readonly ClusterSpec[]>;
  /**
   * Sends one question. It holds a seat of the cluster until the answer was read or cancelled.
   * @throws GatewayError as a request to this cluster alone would
   */
  ask(cluster: ClusterSpec, question: MemberQuestion): Promise<MemberAnswer>;
  readonly access: ClusterAccess;
  /**
   * For an open stream: calls `end` once the caller may no longer reach the cluster, or would be another user there.
   * @returns stops that
   */
  follow(cluster: ClusterSpec, end: (reason: GatewayError) => void): () => void;
  /** Cancels all open answers. */
  close(): void;
}

/** @param identityFor called for each request to a member */
export function makeFanoutMembers(
  state: Authorized,
  dependencies: ChainDependencies,
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
      const leave = dependencies.admission.enterMember(state.user, cluster.name, longRunning);
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
 * The cluster as it is now. Since the decision another server may have taken its name, or the labels that rules look at
 * may have changed.
 * @throws GatewayError CLUSTER_NOT_FOUND when it is another cluster, or the caller may no longer reach it
 */
async function locateJudged(
  cluster: ClusterSpec,
  access: ClusterAccess,
  dependencies: ChainDependencies,
): Promise<Target> {
  for (let judged = cluster; ;) {
    const target = await locate(cluster.name, dependencies.clusters.get, dependencies.connections);
    const { spec } = target.record;
    if (isAsJudged(judged, spec)) return target;
    if (spec.uid !== cluster.uid || !(await access.mayReach(spec))) throw removed(cluster.name);
    judged = spec;
  }
}

/** The user impersonated in the cluster. Undefined with `self`, and when none can be; then every question fails. */
function identityOrNone(identityFor: IdentityFor, cluster: ClusterSpec): User | undefined {
  try {
    const identity = identityFor(cluster);
    return identity === 'self' ? undefined : identity;
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** The error for a cluster that went away, or whose name another registration has taken. */
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

/**
 * Runs `work` for each item, at most `atOnce` at a time; results are in the order of the items. Rejects with the first
 * error.
 */
export async function inTurns<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => R | Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const turn = async (): Promise<void> => {
    for (const [i, item] of waiting) results[i] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, turn));
  return results;
}
