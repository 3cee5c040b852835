// Sends a request to the first endpoint of a cluster that accepts a connection. A request is moved to another endpoint
// only if nothing of it was sent (rule "retry only what is safe" in docs/rules.md). All endpoints get the same
// credential, so when an endpoint refuses the credential, the others are not tried.
import type { Socket } from 'node:net';
import { GatewayError } from '../../model/errors.ts';
import type { Endpoint } from '../../model/records.ts';
import { connectFaults } from '../call/breaker.ts';
import type { Call } from '../call/call.ts';
import type { Protocols } from '../dial/connect.ts';
import type { EndpointOrder } from './endpoint-order.ts';
import type { EndpointPools } from './endpoint-pools.ts';
import { requestFor } from './endpoint-request.ts';
import type { MemberLabel } from '../call/member-faults.ts';
import type { UpstreamRequest } from '../call/transport-types.ts';

/** One endpoint of the cluster and its connection pools. */
export interface EndpointEntry {
  readonly endpoint: Endpoint;
  readonly pools: EndpointPools;
}

/** A connection for one request, with the request adapted to the endpoint. */
export interface OpenedConnection {
  readonly socket: Socket;
  readonly member: MemberLabel;
  readonly request: UpstreamRequest;
}

const shortProtocols: Protocols = ['http/1.1'];

/** Chooses among the endpoints of one cluster. */
export type EndpointChoice = Pick<OrderedChoice, keyof OrderedChoice>;

/**
 * Sends requests to the endpoints of one cluster.
 * @param entries the endpoints, at least one, in order of preference
 */
export class OrderedChoice {
  readonly #entries: readonly EndpointEntry[];
  readonly #first: EndpointEntry;
  readonly #order: EndpointOrder;
  readonly #closing = new AbortController();

  constructor(entries: readonly EndpointEntry[], order: EndpointOrder) {
    this.#entries = entries;
    this.#first = entries[0]!;
    this.#order = order;
  }

  /** Sends a call to the endpoints in turn; the call's handler receives the answer or the error. */
  accept(call: Call): void {
    if (this.#entries.length === 1) this.#first.pools.accept(call);
    else this.#acceptAnywhere(call);
  }

  #acceptAnywhere(call: Call): void {
    const { request } = call;
    const attempts = this.#start();
    const go = (): void => {
      const entry = this.#entries[attempts.index]!;
      call.request = requestFor(request, this.#first.endpoint, entry.endpoint);
      entry.pools.accept(call);
    };
    call.detour = {
      onTaken: () => attempts.succeed(),
      onFailed: (error) => {
        if (this.#closing.signal.aborted || !connectFaults.has(error.code)) return error;
        if (!attempts.goOn(error)) return attempts.fault();
        go();
        return undefined;
      },
    };
    go();
  }

  /**
   * Opens a new connection for one request.
   * @throws GatewayError (rejects) when no endpoint can be connected to
   */
  async open(request: UpstreamRequest, protocols: Protocols, signal: AbortSignal): Promise<OpenedConnection> {
    const attempts = this.#start();
    for (;;) {
      const { endpoint, pools } = this.#entries[attempts.index]!;
      try {
        const { socket } = await pools.dialer.dial(protocols, signal);
        attempts.succeed();
        const { member } = pools.dialer;
        return { socket, member, request: requestFor(request, this.#first.endpoint, endpoint) };
      } catch (error) {
        if (!(error instanceof GatewayError) || signal.aborted || !connectFaults.has(error.code)) throw error;
        if (!attempts.goOn(error)) throw attempts.fault();
      }
    }
  }

  /** Stops trying further endpoints, because the transport is being closed. */
  close(): void {
    this.#closing.abort();
  }

  #start(): Attempts {
    if (this.#order.returnDue()) this.#lookForFirst();
    return new Attempts(this.#order);
  }

  /** Connects to the preferred endpoint in the background, so that no request has to wait for that attempt. */
  #lookForFirst(): void {
    const { pools } = this.#first;
    pools.dialer.dial(shortProtocols, this.#closing.signal).then(
      ({ socket }) => {
        this.#order.connected(0);
        pools.adopt(socket);
      },
      () => {},
    );
  }
}

/** Which endpoints of the cluster one request has tried, and the errors of those that failed. */
class Attempts {
  /** Index of the endpoint that is being tried now. */
  index: number;
  readonly #order: EndpointOrder;
  readonly #tried = new Set<number>();
  readonly #errors: GatewayError[] = [];

  constructor(order: EndpointOrder) {
    this.#order = order;
    this.index = order.present;
    this.#tried.add(this.index);
  }

  /** Records that the present endpoint failed, and moves to the next one; false when all were tried. */
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

  /** Makes one error with the code of the first failure and the messages of all. */
  fault(): GatewayError {
    const [first, ...others] = this.#errors;
    if (others.length === 0) return first!;
    const message = [first!.message, ...others.map((error) => error.message)].join('; ');
    return new GatewayError(first!.code, message, { ...first!.details, cause: first });
  }
}
