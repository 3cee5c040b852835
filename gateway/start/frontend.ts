// The part of a gateway that turns connections into answers: limits, metrics, the dependencies of the chain, the
// listener. What it knows of clusters and users is handed in, followed by this process or told by another (decision
// 0009). Easy to get wrong: the listener opens last, when nothing can fail any more.
import type { Authorizer } from '../../auth/rules/authorize.ts';
import type { HubClient } from '../../cache/hub/hub-types.ts';
import type { ClusterReader } from '../../cache/model/store.ts';
import type { RunningAudit } from '../audit/audit.ts';
import { askLive } from '../api/index/index-live.ts';
import { makeLocalAnswers } from '../api/local.ts';
import { chain, run, selfChain } from '../chain.ts';
import type { Config } from '../config/configuration.ts';
import { startListener } from './tls-server.ts';
import type { Listener, OpenServer, TlsMaterial } from './tls-server.ts';
import type { GatewayIndex } from './gateway-index.ts';
import type { HealthCheck } from '../operations/health.ts';
import { startLimits } from '../limits/limits.ts';
import type { Log } from '../operations/log.ts';
import { makeMetrics } from '../operations/metrics.ts';
import { startOutgoingStreams } from '../open-streams/outgoing-streams.ts';
import type { MemberConnections } from './member-connections.ts';
import type { OutgoingIdentities } from './outgoing.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';
import type { Serving } from '../certificates/serving.ts';
import { startStreamReviews } from '../open-streams/stream-reviews.ts';
import { fixedTimes } from '../config/time-scale.ts';
import type { RunningTracing } from '../tracing/tracing.ts';
import type { Users } from './users.ts';

/** Time between two bookmarks of a watch that the gateway serves itself; kube-apiserver sends one about every minute. */
export const bookmarkIntervalMs = 60_000;

/** What a frontend is made of. */
export interface FrontendDependencies extends MemberConnections {
  readonly config: Config;
  readonly log: Log;
  readonly version: string;
  readonly store: ClusterReader;
  /** resourceVersion of the store when the gateway started; the present one if absent. */
  readonly startVersion?: string | undefined;
  readonly users: Pick<Users, 'authenticate' | 'clientCa' | 'onClientCa'>;
  readonly authorizer: Authorizer;
  readonly outgoing: Pick<OutgoingIdentities, 'identity' | 'onChange'>;
  readonly audit: RunningAudit | undefined;
  /** Undefined unless traces are asked for. */
  readonly tracing?: RunningTracing | undefined;
  readonly hub: HubClient | undefined;
  readonly index: GatewayIndex | undefined;
  /** Checks beside those of limits and index. */
  readonly checks: readonly HealthCheck[];
  /** Files whose last edit could not be used. */
  readonly reloadFaults: () => readonly string[];
}

/** A frontend, open or not yet. */
export interface Frontend {
  readonly registry: ReturnType<typeof makeMetrics>['registry'];
  /** Everything readyz asks. */
  readonly checks: readonly HealthCheck[];
  /** Requests are refused from now on. */
  refuse(): void;
  /**
   * Begins to listen; certificates and client authorities are followed.
   * @throws Error with the system's code when the address cannot be had
   */
  open(serving: Pick<Serving, 'current' | 'onChange'>, openServer?: OpenServer): Promise<Listener>;
  /** Ends what runs beside the listener. */
  close(): void;
}

/** Makes it; nothing listens yet. */
export function makeFrontend(parts: FrontendDependencies): Frontend {
  const { config, log, version, store, users, authorizer, outgoing, index, audit, tracing } = parts;
  const { connections, openStreams } = parts;
  let refusing = false;
  const times = fixedTimes(config.timeScale);
  const limits = startLimits(config.limits, {
    openStreams,
    authenticate: users.authenticate,
    onMemory: (shedding, share) =>
      log.warn({ share }, shedding ? 'short of memory: new requests are refused' : 'memory is free again'),
  });
  const checks = [...parts.checks, limits.check, ...(index === undefined ? [] : [index.check])];
  const { reloadFaults } = parts;
  const metrics = makeMetrics({ store, connections, openStreams, log, reloadFaults, version });
  limits.register(metrics.registry);
  index?.register(metrics.registry);
  audit?.register(metrics.registry);
  tracing?.register(metrics.registry);
  const streamReviews = startStreamReviews({
    authenticate: users.authenticate,
    authorizer,
    intervalMs: times.streamReviewIntervalMs,
    endExpired: config.limits.endExpiredStreams,
  });
  const outgoingStreams = startOutgoingStreams(outgoing, store);
  const dependencies: ChainDependencies = {
    authenticate: limits.authenticate,
    authorizer,
    admission: limits.admission,
    audit,
    tracing,
    clusters: store,
    connections,
    outgoingIdentity: outgoing.identity,
    outgoingStreams,
    openStreams,
    metrics,
    log,
    streamReviews,
    answerLocally: makeLocalAnswers({
      clusters: { store, identity: config.identity, openStreams, bookmarkIntervalMs },
      startVersion: parts.startVersion,
      checks,
      version,
      clusterGatewayApi: config.hub?.clusterGatewayApi ?? false,
      hub: parts.hub,
      index: index && {
        answer: index.answer,
        live: (state, question) => askLive(state, dependencies, config.identity, question),
      },
    }),
    clusterDomain: config.clusterDomain,
    forwardedSubresources: config.index?.forwardedSubresources,
    firstByteTimeoutMs: config.firstByteTimeoutMs,
    refusing: () => refusing,
  };
  const steps = config.identity === 'self' ? selfChain : chain;

  return {
    registry: metrics.registry,
    checks,
    refuse: () => void (refusing = true),
    async open(serving, openServer) {
      let clientCa = users.clientCa();
      const material = (): TlsMaterial => ({ ...serving.current(), clientCa });
      const listener = await startListener(
        config.listen,
        material(),
        (arrival) => run(steps, arrival, dependencies),
        times.clientLostMs,
        { total: config.limits.connections, perAddress: config.limits.addressConnections },
        openServer,
        limits.holdings,
      );
      limits.setConnections(listener.connections);
      serving.onChange(() => listener.setTls(material()));
      users.onClientCa(() => {
        clientCa = users.clientCa();
        listener.setTls(material());
      });
      return listener;
    },
    close() {
      outgoingStreams.close();
      streamReviews.close();
      limits.close();
    },
  };
}
