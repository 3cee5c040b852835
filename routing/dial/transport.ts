// All connections to one cluster behind one contract: pools for each of its endpoints, upgrades on sockets of their
// own. Easy to get wrong: each endpoint has connections and TLS settings of its own; what was opened for one never
// serves another.
import type { Socket } from 'node:net';
import { connectTimeoutMs } from '../../lib/limits.ts';
import type { ClusterSpec, Credential, EndpointOption } from '../../cache/model/records.ts';
import { Call } from '../members/call.ts';
import type { DialTarget } from './connect.ts';
import { makeEndpointChoice } from './endpoint-choice.ts';
import { makeEndpointOrder, returnAfterMs } from './endpoint-order.ts';
import { makeEndpointPools } from './endpoint-pools.ts';
import type { PoolLimits } from './endpoint-pools.ts';
import { requestUpgrade } from '../http1/http1-upgrade.ts';
import { closedTransport, fail } from '../members/member-faults.ts';
import type { Transport } from '../members/transport-types.ts';

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
  /** Told how many bytes of answers came, upgrades left out. */
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
  const { limits = {}, fallbacks = [], timeoutMs = connectTimeoutMs } = options;
  const ways: readonly EndpointOption[] = [{ endpoint: options.endpoint, tls: options.tls }, ...fallbacks];
  const attemptMs = Math.min(timeoutMs, Math.max(timeoutMs / ways.length, leastAttemptMs));
  const entries = ways.map(({ endpoint, tls }) => ({
    endpoint,
    pools: makeEndpointPools({ ...options, endpoint, tls, timeoutMs: attemptMs }, limits),
  }));
  const choice = makeEndpointChoice(entries, makeEndpointOrder(entries.length, limits.returnAfterMs ?? returnAfterMs));
  const { member } = entries[0]!.pools.dialer;
  /** Sockets of upgrades, from the connect on. */
  const upgraded = new Set<Socket>();
  /** Upgrades whose connection is being opened. */
  let asking = 0;
  let removed = false;
  return {
    send(request, handler) {
      const call = new Call(request, handler, options.onBody);
      choice.accept(call);
      return call;
    },
    upgrade(request, token, handler, signal) {
      if (removed) return Promise.reject(closedTransport(member));
      if (upgraded.size + asking >= (limits.upgrades ?? 1024)) {
        const busy = `too many upgraded connections to ${member.address}`;
        return Promise.reject(fail('MEMBER_OVERLOADED', busy, member, undefined));
      }
      asking++;
      let waiting = true;
      const connected = (): void => {
        if (waiting) asking--;
        waiting = false;
      };
      const onSocket = (socket: Socket): void => {
        connected();
        upgraded.add(socket);
        socket.on('close', () => upgraded.delete(socket));
        if (removed) socket.destroy();
      };
      const open = choice.open;
      return requestUpgrade({ open, request, token, handler, signal, onSocket }).finally(connected);
    },
    stats() {
      const all = entries.map(({ pools }) => pools.stats());
      const sum = (of: (stats: (typeof all)[number]) => number): number =>
        all.reduce((total, stats) => total + of(stats), 0);
      return {
        http1Idle: sum(({ http1Idle }) => http1Idle),
        http1Active: sum(({ http1Active }) => http1Active),
        http2Sessions: sum(({ http2Sessions }) => http2Sessions),
        http2Streams: sum(({ http2Streams }) => http2Streams),
        pending: sum(({ pending }) => pending),
        upgraded: upgraded.size,
      };
    },
    close(mode) {
      if (mode === 'abort') choice.close();
      for (const { pools } of entries) pools.close(mode);
      if (mode === 'drain') return;
      removed = true;
      for (const socket of upgraded) socket.destroy();
    },
  };
}
