// All connections to one cluster: pools for each of its endpoints, and a separate connection for each upgrade. Each
// endpoint has its own connections and TLS settings, which are never used for another endpoint.
import type { Socket } from 'node:net';
import { connectTimeoutMs } from '../../lib/limits.ts';
import type { ClusterSpec, Credential, EndpointOption } from '../../model/records.ts';
import { Call } from '../call/call.ts';
import type { DialTarget } from '../dial/connect.ts';
import { OrderedChoice } from './endpoint-choice.ts';
import type { EndpointChoice, EndpointEntry } from './endpoint-choice.ts';
import { makeEndpointOrder, returnAfterMs } from './endpoint-order.ts';
import { makeEndpointPools } from './endpoint-pools.ts';
import type { PoolLimits } from './endpoint-pools.ts';
import { requestUpgrade } from './http1-upgrade.ts';
import { closedTransport, fail } from '../call/member-faults.ts';
import type {
  ResponseHandler,
  Transport,
  TransportStats,
  UpgradeAnswer,
  UpstreamCall,
  UpstreamRequest,
} from '../call/transport-types.ts';

/** Limits for the connections to one cluster. The limits of {@link PoolLimits} apply to each endpoint separately. */
export interface TransportLimits extends PoolLimits {
  /**
   * Most upgraded connections, including upgrade requests in progress; further ones fail with MEMBER_OVERLOADED.
   * Default 1024.
   */
  readonly upgrades?: number;
  /**
   * Milliseconds between two attempts to return to the preferred endpoint while another one is in use; default 30,000.
   */
  readonly returnAfterMs?: number;
}

/** The inputs from which a transport is made: parts of a cluster record and its credential. */
export interface TransportOptions extends DialTarget {
  /** Further endpoints, tried in order when `endpoint` cannot be connected to. */
  readonly fallbacks?: readonly EndpointOption[] | undefined;
  readonly limits?: TransportLimits;
  /** Called with the number of bytes of each chunk of an answer, but not for upgraded connections. */
  readonly onBody?: (bytes: number) => void;
}

/**
 * Returns the inputs of a transport from a record and its credential. Easy to get wrong: a security setting that is
 * forgotten here (TLS, proxy, address rule) is missing from every connection.
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

/**
 * With several endpoints, each attempt to connect gets an equal share of the connect timeout, but at least this many
 * milliseconds.
 */
const leastAttemptMs = 2_000;

/** Makes the transport of one cluster record; opens no connection yet. */
export function makeTransport(options: TransportOptions): Transport {
  return new ClusterTransport(options);
}

class ClusterTransport implements Transport {
  readonly #onBody: TransportOptions['onBody'];
  readonly #entries: readonly EndpointEntry[];
  readonly #choice: EndpointChoice;
  readonly #maxUpgrades: number;
  /** Sockets of upgrade requests and upgraded connections, from the moment they are connected. */
  readonly #upgraded = new Set<Socket>();
  /** Number of upgrade requests that wait for a connection. */
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
    this.#choice = new OrderedChoice(this.#entries, order);
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
    const total = { http1Idle: 0, http1Active: 0, http2Sessions: 0, http2Streams: 0, pending: 0 };
    for (const { pools } of this.#entries) {
      for (const [name, count] of Object.entries(pools.stats())) total[name as keyof typeof total] += count;
    }
    return { ...total, upgraded: this.#upgraded.size };
  }

  close(mode: 'drain' | 'abort'): void {
    if (mode === 'abort') this.#choice.close();
    for (const { pools } of this.#entries) pools.close(mode);
    if (mode === 'drain') return;
    this.#isAborted = true;
    for (const socket of this.#upgraded) socket.destroy();
  }
}
