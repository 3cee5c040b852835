// All connections to one cluster: pools for each of its endpoints, and upgrades on sockets of their own. Each endpoint
// has its own connections and TLS settings; what was opened for one never serves another.
import type { Socket } from 'node:net';
import { connectTimeoutMs } from '../../lib/limits.ts';
import type { ClusterSpec, Credential, EndpointOption } from '../../cache/model/records.ts';
import { Call } from '../members/call.ts';
import type { DialTarget } from './connect.ts';
import { makeEndpointChoice } from './endpoint-choice.ts';
import type { EndpointChoice, EndpointEntry } from './endpoint-choice.ts';
import { makeEndpointOrder, returnAfterMs } from './endpoint-order.ts';
import { makeEndpointPools } from './endpoint-pools.ts';
import type { PoolLimits } from './endpoint-pools.ts';
import { requestUpgrade } from '../http1/http1-upgrade.ts';
import { closedTransport, fail } from '../members/member-faults.ts';
import type {
  ResponseHandler,
  Transport,
  TransportStats,
  UpgradeAnswer,
  UpstreamCall,
  UpstreamRequest,
} from '../members/transport-types.ts';

/** Bounds of one cluster's connections; those of the pools hold for each endpoint. */
export interface TransportLimits extends PoolLimits {
  /** Upgraded connections and those asked to upgrade; default 1024. */
  readonly upgrades?: number;
  /** With fallbacks in use, the time between two looks at the first endpoint; default 30 s. */
  readonly returnAfterMs?: number;
}

/** What a transport is made of: parts of one cluster record and its credential. */
export interface TransportOptions extends DialTarget {
  /** Tried in order when `endpoint` cannot be connected to. */
  readonly fallbacks?: readonly EndpointOption[] | undefined;
  readonly limits?: TransportLimits;
  /** Called with the number of bytes of each piece of an answer, upgrades left out. */
  readonly onBody?: (bytes: number) => void;
}

/**
 * What of a record and its credential a transport is made of; a part that is left out here is left out of every
 * connection.
 */
export function transportParts(spec: ClusterSpec, credential: Credential): TransportOptions {
  return {
    clusterName: spec.name,
    endpoint: spec.endpoint!,
    tls: spec.tls,
    fallbacks: spec.fallbacks,
    proxy: spec.proxy,
    clientCertificate: credential.clientCertificate,
    addressRule: spec.addressRule,
  };
}

/** With several endpoints each gets its share of the connect deadline, but no less than this. */
const leastAttemptMs = 2_000;

/** Makes the transport of one cluster record; connects to nothing yet. */
export function makeTransport(options: TransportOptions): Transport {
  return new ClusterTransport(options);
}

class ClusterTransport implements Transport {
  readonly #onBody: TransportOptions['onBody'];
  readonly #entries: readonly EndpointEntry[];
  readonly #choice: EndpointChoice;
  readonly #maxUpgrades: number;
  /** Sockets of upgrades, from the connect on. */
  readonly #upgraded = new Set<Socket>();
  /** Upgrades whose connection is being opened. */
  #asking = 0;
  #isAborted = false;

  constructor(options: TransportOptions) {
    const { limits = {}, fallbacks = [], timeoutMs = connectTimeoutMs } = options;
    const endpoints: readonly EndpointOption[] = [{ endpoint: options.endpoint, tls: options.tls }, ...fallbacks];
    const attemptMs = Math.min(timeoutMs, Math.max(timeoutMs / endpoints.length, leastAttemptMs));
    this.#onBody = options.onBody;
    this.#entries = endpoints.map(({ endpoint, tls }) => ({
      endpoint,
      pools: makeEndpointPools({ ...options, endpoint, tls, timeoutMs: attemptMs }, limits),
    }));
    const order = makeEndpointOrder(endpoints.length, limits.returnAfterMs ?? returnAfterMs);
    this.#choice = makeEndpointChoice(this.#entries, order);
    this.#maxUpgrades = limits.upgrades ?? 1024;
  }

  send(request: UpstreamRequest, handler: ResponseHandler): UpstreamCall {
    const call = new Call(request, handler, this.#onBody);
    this.#choice.accept(call);
    return call;
  }

  upgrade(
    request: UpstreamRequest,
    token: string,
    handler: ResponseHandler,
    signal: AbortSignal,
  ): Promise<UpgradeAnswer> {
    const { member } = this.#entries[0]!.pools.dialer;
    if (this.#isAborted) return Promise.reject(closedTransport(member));
    if (this.#upgraded.size + this.#asking >= this.#maxUpgrades) {
      const busy = `too many upgraded connections to ${member.address}`;
      return Promise.reject(fail('MEMBER_OVERLOADED', busy, member, undefined));
    }
    this.#asking++;
    let isAsking = true;
    const connected = (): void => {
      if (isAsking) this.#asking--;
      isAsking = false;
    };
    const onSocket = (socket: Socket): void => {
      connected();
      this.#own(socket);
    };
    const open: EndpointChoice['open'] = (...asked) => this.#choice.open(...asked);
    return requestUpgrade({ open, request, token, handler, signal, onSocket }).finally(connected);
  }

  #own(socket: Socket): void {
    this.#upgraded.add(socket);
    socket.on('close', () => this.#upgraded.delete(socket));
    if (this.#isAborted) socket.destroy();
  }

  stats(): TransportStats {
    const all = this.#entries.map(({ pools }) => pools.stats());
    const sum = (of: (stats: (typeof all)[number]) => number): number =>
      all.reduce((total, stats) => total + of(stats), 0);
    return {
      http1Idle: sum(({ http1Idle }) => http1Idle),
      http1Active: sum(({ http1Active }) => http1Active),
      http2Sessions: sum(({ http2Sessions }) => http2Sessions),
      http2Streams: sum(({ http2Streams }) => http2Streams),
      pending: sum(({ pending }) => pending),
      upgraded: this.#upgraded.size,
    };
  }

  close(mode: 'drain' | 'abort'): void {
    if (mode === 'abort') this.#choice.close();
    for (const { pools } of this.#entries) pools.close(mode);
    if (mode === 'drain') return;
    this.#isAborted = true;
    for (const socket of this.#upgraded) socket.destroy();
  }
}
