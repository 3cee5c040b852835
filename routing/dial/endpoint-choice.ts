// Takes a call or an upgrade to the first endpoint of a cluster that can be connected to. Easy to get wrong: only a
// request of which nothing was sent may go to another endpoint, and all of them have the same identity at the other
// end, so a refused credential is an answer and no reason to look further.
import type { Socket } from 'node:net';
import { GatewayError } from '../../cache/model/errors.ts';
import type { ErrorCode } from '../../cache/model/errors.ts';
import type { Endpoint } from '../../cache/model/records.ts';
import type { Call } from '../members/call.ts';
import type { Protocols } from './connect.ts';
import type { EndpointOrder } from './endpoint-order.ts';
import type { EndpointPools } from './endpoint-pools.ts';
import { requestFor } from './endpoint-request.ts';
import type { MemberLabel } from '../members/member-faults.ts';
import type { UpstreamRequest } from '../members/transport-types.ts';

/** One way to the cluster. */
export interface EndpointEntry {
  readonly endpoint: Endpoint;
  readonly pools: EndpointPools;
}

/** A connection for one request, and the request as its endpoint must see it. */
export interface OpenedConnection {
  readonly socket: Socket;
  readonly member: MemberLabel;
  readonly request: UpstreamRequest;
}

/** Chooses among the endpoints of one cluster. */
export interface EndpointChoice {
  /** Takes a call; whatever becomes of it, its handler hears. */
  accept(call: Call): void;
  /** Opens a connection of its own for a request. Rejects with a GatewayError when no endpoint can be connected to. */
  open(request: UpstreamRequest, protocols: Protocols, signal: AbortSignal): Promise<OpenedConnection>;
  /** No more looking further: the transport is being closed. */
  close(): void;
}

/** Faults that mean "no connection". A refused credential or a full pool would be the same elsewhere. */
const connectFaults: ReadonlySet<ErrorCode> = new Set([
  'MEMBER_REFUSED',
  'MEMBER_TIMEOUT',
  'MEMBER_TLS',
  'MEMBER_PROXY',
  'MEMBER_UNAVAILABLE',
]);

const shortProtocols: Protocols = ['http/1.1'];

/** Makes the choice among `entries`, in order of preference; at least one. */
export function makeEndpointChoice(entries: readonly EndpointEntry[], order: EndpointOrder): EndpointChoice {
  const first = entries[0]!;
  const closing = new AbortController();

  /** Tries the first endpoint beside the calls, so that none of them waits for it. */
  function lookForFirst(): void {
    first.pools.dialer.dial(shortProtocols, closing.signal).then(
      ({ socket }) => {
        order.connected(0);
        first.pools.adopt(socket);
      },
      () => {},
    );
  }

  function start(): Attempts {
    if (order.returnDue()) lookForFirst();
    return new Attempts(order);
  }

  return {
    accept(call) {
      if (entries.length === 1) {
        first.pools.accept(call);
        return;
      }
      const { request } = call;
      const attempts = start();
      const go = (): void => {
        const entry = entries[attempts.index]!;
        call.request = requestFor(request, first.endpoint, entry.endpoint);
        entry.pools.accept(call);
      };
      call.detour = {
        onTaken: () => attempts.succeed(),
        onFailed(error) {
          if (closing.signal.aborted || !connectFaults.has(error.code)) return error;
          if (!attempts.goOn(error)) return attempts.fault();
          go();
          return undefined;
        },
      };
      go();
    },
    async open(request, protocols, signal) {
      const attempts = start();
      for (;;) {
        const { endpoint, pools } = entries[attempts.index]!;
        try {
          const { socket } = await pools.dialer.dial(protocols, signal);
          attempts.succeed();
          const { member } = pools.dialer;
          return { socket, member, request: requestFor(request, first.endpoint, endpoint) };
        } catch (error) {
          if (!(error instanceof GatewayError) || signal.aborted || !connectFaults.has(error.code)) throw error;
          if (!attempts.goOn(error)) throw attempts.fault();
        }
      }
    },
    close: () => closing.abort(),
  };
}

/** Where one request has been. */
class Attempts {
  /** The endpoint being tried now. */
  index: number;
  readonly #order: EndpointOrder;
  readonly #tried = new Set<number>();
  readonly #errors: GatewayError[] = [];

  constructor(order: EndpointOrder) {
    this.#order = order;
    this.index = order.present;
    this.#tried.add(this.index);
  }

  /** False when no endpoint is left. */
  goOn(error: GatewayError): boolean {
    this.#errors.push(error);
    this.#order.failed(this.index);
    const next = this.#order.after(this.#tried);
    if (next === undefined) return false;
    this.index = next;
    this.#tried.add(next);
    return true;
  }

  succeed(): void {
    if (this.#tried.size > 1) this.#order.connected(this.index);
  }

  /** One error for all of them, of the kind of the first. */
  fault(): GatewayError {
    const [first, ...others] = this.#errors;
    if (others.length === 0) return first!;
    const message = [first!.message, ...others.map((error) => error.message)].join('; ');
    return new GatewayError(first!.code, message, { ...first!.details, cause: first });
  }
}
