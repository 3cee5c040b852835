// The part of a gateway that accepts connections and answers them: limits, metrics, the interval of bookmarks, the
// request chain and the listener. Clusters and users are made elsewhere and passed in. The listener opens last, when
// nothing else can fail.
import type { Authorizer } from '../../auth/rules/authorize.ts';
import type { ApiClient } from '../../kube/types.ts';
import type { ClusterReader } from '../../model/store.ts';
import type { RunningAudit } from '../audit/audit.ts';
import { askIfAny } from '../live/every-cluster.ts';
import { askLive } from '../live/index-live.ts';
import { makeRegistryAnswers } from '../../api/karmada/registries.ts';
import { askOwner } from '../live/proxying.ts';
import { askMetrics } from '../live/resource-metrics.ts';
import { makeLocalAnswers } from '../../api/local.ts';
import { chain, selfChain } from '../chain.ts';
import { run } from '../run-chain.ts';
import type { Config } from '../../config/configuration.ts';
import type { ConsoleConfig } from '../../config/sections/console-config.ts';
import { readConsoleAssets } from '../console/assets.ts';
import { makeConsole } from '../console/console.ts';
import { startListener } from '../listener/tls-server.ts';
import type { ConnectionGiver, Listener, TlsMaterial } from '../listener/tls-server.ts';
import type { GatewayIndex } from '../parts/gateway-index.ts';
import type { HealthCheck } from '../../api/health.ts';
import { startLimits } from '../limits/limits.ts';
import type { Log } from '../../lib/log.ts';
import { makeMetrics } from '../operations/metrics.ts';
import type { Metrics } from '../operations/metrics.ts';
import { makeStatistics } from '../../api/clusters/request-statistics.ts';
import { startOutgoingStreams } from '../open-streams/outgoing-streams.ts';
import type { OutgoingStreams } from '../open-streams/outgoing-streams.ts';
import type { MemberConnections } from '../parts/member-connections.ts';
import type { OutgoingIdentities } from '../users/outgoing.ts';
import type { ChainDependencies } from '../steps/chain-dependencies.ts';
import type { Serving } from '../certificates/serving.ts';
import { startStreamReviews } from '../open-streams/stream-reviews.ts';
import type { StreamReviews } from '../open-streams/stream-reviews.ts';
import { fixedTimes } from '../parts/fixed-times.ts';
import type { RunningTracing } from '../tracing/tracing.ts';
import type { Users } from '../users/users.ts';

/**
 * Milliseconds between two bookmarks of a watch that the gateway serves itself; kube-apiserver sends one about every
 * minute.
 */
export const bookmarkIntervalMs = 60_000;

/** Other parts of the gateway that a frontend (the part that accepts and answers requests) needs. */
export interface FrontendDependencies extends MemberConnections {
  readonly config: Config;
  readonly log: Log;
  readonly version: string;
  readonly store: ClusterReader;
  readonly users: Pick<Users, 'authenticate' | 'clientCa' | 'onClientCa'>;
  readonly authorizer: Authorizer;
  readonly outgoing: Pick<OutgoingIdentities, 'identity' | 'onChange'>;
  readonly audit: RunningAudit | undefined;
  /** Tracing; undefined when nothing is traced. */
  readonly tracing?: RunningTracing | undefined;
  readonly hub: ApiClient | undefined;
  readonly index: GatewayIndex | undefined;
  /** Health checks of other parts of the gateway. The frontend adds those of the limits and of the index. */
  readonly checks: readonly HealthCheck[];
  /** Files whose last change was invalid, so that their previous valid content is still in use. */
  readonly reloadFaults: () => readonly string[];
}

/** The part of a gateway that accepts and answers requests. It accepts connections only after `open`. */
export interface Frontend {
  readonly registry: ReturnType<typeof makeMetrics>['registry'];
  /** All checks that readyz runs. */
  readonly checks: readonly HealthCheck[];
  /** Makes the gateway refuse all further requests, because it is ending. */
  refuse(): void;
  /**
   * Begins to listen. New certificates and client CAs are used as soon as they change.
   * @throws Error (rejects) with the system's error code when the address cannot be used
   */
  open(serving: Pick<Serving, 'current' | 'onChange'>, giver?: ConnectionGiver): Promise<Listener>;
  /** Stops the regular checks of open streams and the limits. The listener is closed separately. */
  close(): void;
}

/** Makes a frontend that does not listen yet. */
export function makeFrontend(parts: FrontendDependencies): Frontend {
  return new RunningFrontend(parts);
}

class RunningFrontend implements Frontend {
  readonly registry: Frontend['registry'];
  readonly checks: readonly HealthCheck[];
  readonly #parts: FrontendDependencies;
  readonly #limits: ReturnType<typeof startLimits>;
  readonly #streamReviews: StreamReviews;
  readonly #outgoingStreams: OutgoingStreams;
  readonly #dependencies: ChainDependencies;
  #refusing = false;

  constructor(parts: FrontendDependencies) {
    this.#parts = parts;
    const { config, users, authorizer, outgoing, store, index } = parts;
    this.#limits = limitsOf(parts);
    this.checks = [...parts.checks, this.#limits.check, ...(index === undefined ? [] : [index.check])];
    const metrics = makeMetrics(parts);
    this.registry = metrics.registry;
    for (const part of [this.#limits, index, parts.audit, parts.tracing]) part?.register(metrics.registry);
    this.#streamReviews = startStreamReviews({
      authenticate: users.authenticate,
      authorizer,
      intervalMs: fixedTimes(config.timeScale).streamReviewIntervalMs,
      endExpired: config.limits.endExpiredStreams,
    });
    this.#outgoingStreams = startOutgoingStreams(outgoing, store);
    this.#dependencies = this.#makeDependencies(metrics);
  }

  refuse(): void {
    this.#refusing = true;
  }

  async open(serving: Pick<Serving, 'current' | 'onChange'>, giver?: ConnectionGiver): Promise<Listener> {
    const { config, users } = this.#parts;
    const { connections, addressConnections } = config.limits;
    const steps = config.identity === 'self' ? selfChain : chain;
    const dependencies = this.#dependencies;
    const material = (): TlsMaterial => ({ ...serving.current(), clientCa: users.clientCa() });
    const listener = await startListener(config.listen, material(), (arrival) => run(steps, arrival, dependencies), {
      lostMs: fixedTimes(config.timeScale).clientLostMs,
      bounds: { total: connections, perAddress: addressConnections },
      giver,
      holdings: this.#limits.holdings,
    });
    this.#limits.setConnections(listener.connections);
    serving.onChange(() => listener.setTls(material()));
    users.onClientCa(() => listener.setTls(material()));
    return listener;
  }

  close(): void {
    this.#outgoingStreams.close();
    this.#streamReviews.close();
    this.#limits.close();
  }

  #makeDependencies(metrics: Metrics): ChainDependencies {
    const { config, authorizer, audit, tracing, store, connections, openStreams, outgoing, log } = this.#parts;
    const dependencies: ChainDependencies = {
      authenticate: this.#limits.authenticate,
      authorizer,
      admission: this.#limits.admission,
      audit,
      tracing,
      clusters: store,
      connections,
      outgoingIdentity: outgoing.identity,
      outgoingStreams: this.#outgoingStreams,
      openStreams,
      metrics,
      log,
      streamReviews: this.#streamReviews,
      answerLocally: this.#makeLocalAnswers(metrics, () => dependencies),
      console: config.console && this.#makeConsole(config.console),
      clusterDomain: config.clusterDomain,
      forwardedSubresources: config.index?.forwardedSubresources,
      firstByteTimeoutMs: config.firstByteTimeoutMs,
      refusing: () => this.#refusing,
    };
    return dependencies;
  }

  #makeConsole(config: ConsoleConfig): ChainDependencies['console'] {
    const { users } = this.#parts;
    return makeConsole({
      assets: readConsoleAssets(),
      config,
      takesCertificates: () => users.clientCa() !== undefined,
    });
  }

  #makeLocalAnswers(metrics: Metrics, dependencies: () => ChainDependencies): ChainDependencies['answerLocally'] {
    const { config, authorizer, store, openStreams, version, hub, index } = this.#parts;
    return makeLocalAnswers({
      clusters: { store, identity: config.identity, openStreams, bookmarkIntervalMs },
      checks: this.checks,
      statistics: makeStatistics(metrics.series),
      version,
      clusterGatewayApi: config.hub?.clusterGatewayApi ?? false,
      hub,
      registries:
        config.hub?.karmadaSearch === 'replace' && hub !== undefined
          ? makeRegistryAnswers(hub, openStreams, authorizer)
          : undefined,
      index: index && {
        answer: index.answer,
        live: (state, question) => askLive(state, dependencies(), config.identity, question),
        everyCluster: (state, asked) => askIfAny(state, dependencies(), config.identity, asked),
        owner: (state, surface) =>
          askOwner(state, surface, dependencies(), { identity: config.identity, findOwner: index.owner }),
        metrics: (state, question) => askMetrics(state, dependencies(), config.identity, question),
      },
    });
  }
}

function limitsOf({ config, openStreams, users, log }: FrontendDependencies): ReturnType<typeof startLimits> {
  return startLimits(config.limits, {
    openStreams,
    authenticate: users.authenticate,
    onMemory: (shedding, share) =>
      log.warn({ share }, shedding ? 'short of memory: new requests are refused' : 'memory is free again'),
  });
}
