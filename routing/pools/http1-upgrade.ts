// Sends an upgrade request to a member on a new connection. Easy to get wrong: the connection may become a tunnel only
// after a 101 that names exactly the requested protocol. After any other answer the socket must be destroyed: a client
// that was connected to it could send requests authenticated as the gateway (CVE-2018-1002105; rule "upgrades are
// closed until 101" in docs/rules.md).
import type { Socket } from 'node:net';
import { GatewayError } from '../../model/errors.ts';
import { ResponseFault } from '../../http/http1/chunked-body.ts';
import type { Protocols } from '../dial/connect.ts';
import type { EndpointChoice } from './endpoint-choice.ts';
import { badResponse, fail, memberFault } from '../call/member-faults.ts';
import type { MemberLabel } from '../call/member-faults.ts';
import { requestHead } from '../http1/request-head.ts';
import { ResponseParser } from '../dial/response-parser.ts';
import type { ResponseSink } from '../dial/response-parser.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ResponseHandler, UpgradeAnswer, UpstreamRequest } from '../call/transport-types.ts';

/**
 * Maximum number of bytes of the body of an answer other than 101. A longer body ends the answer with an error. The
 * limit is needed because the body is read without backpressure.
 */
const maxRefusalBytes = 1024 * 1024;
/** Maximum time in milliseconds for the body of an answer other than 101; then the answer ends with an error. */
const refusalTimeoutMs = 10_000;

const protocols: Protocols = ['http/1.1'];

/** The inputs of one upgrade request; see {@link Transport.upgrade} in ../call/transport-types.ts. */
export interface UpgradeAttempt {
  /** Opens a connection to an endpoint of the cluster. */
  readonly open: EndpointChoice['open'];
  readonly request: UpstreamRequest;
  readonly token: string;
  readonly handler: ResponseHandler;
  /** Aborting it destroys the connection, unless the connection was already returned to the caller. */
  readonly signal: AbortSignal;
  /** Called with the socket as soon as it is connected. */
  readonly onSocket: (socket: Socket) => void;
}

/**
 * Sends an upgrade request and resolves with the kind of answer.
 * @throws GatewayError (rejects) when there was no answer; errors after the answer's head are passed to the handler
 */
export async function requestUpgrade(attempt: UpgradeAttempt): Promise<UpgradeAnswer> {
  const { open, request, token, signal, onSocket } = attempt;
  if (request.body !== 'none' && request.body !== 0) {
    throw new GatewayError('INTERNAL', 'the gateway built an upgrade request with a body; it was not sent');
  }
  // An invalid request must be refused before a connection is opened. The endpoint that is chosen later only changes
  // Host and base path.
  requestHead(request, token);
  const { socket, member, request: final } = await open(request, protocols, signal);
  onSocket(socket);
  try {
    return await new UpgradeExchange(attempt, socket, member).ask(requestHead(final, token));
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** One request and answer, until the socket is returned to the caller or destroyed. */
class UpgradeExchange implements ResponseSink {
  readonly #handler: ResponseHandler;
  readonly #signal: AbortSignal;
  readonly #token: string;
  readonly #socket: Socket;
  readonly #member: MemberLabel;
  readonly #parser = new ResponseParser(this);
  readonly #answer = Promise.withResolvers<UpgradeAnswer>();
  /** Headers of the member's 101 answer; undefined before the answer has arrived. */
  #switched: RawHeaders | undefined;
  /** Whether the member gave an answer other than 101, and its head was passed to the handler. */
  #refused = false;
  #refusalBytes = 0;
  #deadline: NodeJS.Timeout | undefined;
  #over = false;

  constructor({ handler, signal, token }: UpgradeAttempt, socket: Socket, member: MemberLabel) {
    this.#handler = handler;
    this.#signal = signal;
    this.#token = token;
    this.#socket = socket;
    this.#member = member;
  }

  /**
   * Sends the request head and resolves with the kind of answer.
   * @throws GatewayError (rejects) when there was no answer
   */
  ask(head: string): Promise<UpgradeAnswer> {
    const socket = this.#socket;
    this.#parser.begin('upgrade');
    socket.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onFault).on('close', this.#onEnd);
    this.#signal.addEventListener('abort', this.#onAbort);
    socket.resume();
    socket.write(head, 'latin1');
    this.#handler.onSent?.(false);
    return this.#answer.promise;
  }

  onHeaders(status: number, headers: string[]): void {
    if (status === 101) {
      this.#switched = headers;
      return;
    }
    this.#refused = true;
    this.#deadline = setTimeout(() => this.#giveUp(slowRefusal(this.#member)), refusalTimeoutMs);
    this.#handler.onHeaders(status, headers);
    this.#answer.resolve({ kind: 'refused' });
  }

  onData(chunk: Buffer): void {
    this.#refusalBytes += chunk.length;
    if (this.#over) return;
    if (this.#refusalBytes <= maxRefusalBytes) this.#handler.onData(chunk);
    else this.#giveUp(badResponse('its refusal of an upgrade is longer than 1 MiB', this.#member));
  }

  readonly #onData = (chunk: Buffer): void => {
    try {
      const used = this.#parser.push(chunk);
      if (this.#switched !== undefined) this.#handOver(this.#switched, chunk.subarray(used));
      else if (this.#parser.complete) this.#complete();
    } catch (error) {
      const isAnswer = error instanceof ResponseFault;
      this.#giveUp(isAnswer ? badResponse(error.message, this.#member) : memberFault(error, this.#member, 'request'));
    }
  };

  readonly #onEnd = (): void => {
    if (this.#refused && this.#parser.finish()) {
      this.#complete();
      return;
    }
    const closed = `${this.#member.address} closed the connection during the upgrade`;
    this.#giveUp(fail('MEMBER_UNAVAILABLE', closed, this.#member, undefined));
  };

  readonly #onFault = (error: unknown): void => this.#giveUp(memberFault(error, this.#member, 'request'));

  readonly #onAbort = (): void =>
    this.#giveUp(fail('MEMBER_UNAVAILABLE', 'the upgrade was cancelled', this.#member, undefined));

  #handOver(headers: RawHeaders, rest: Buffer): void {
    const fault = switchFault(headers, this.#token);
    if (fault !== undefined) {
      this.#giveUp(badResponse(fault, this.#member));
      return;
    }
    if (!this.#letGo()) return;
    this.#socket.pause();
    this.#answer.resolve({ kind: 'switched', headers, socket: this.#socket, head: rest });
  }

  #giveUp(error: GatewayError): void {
    if (!this.#letGo()) return;
    this.#socket.destroy();
    if (this.#refused) this.#handler.onError(error, true);
    else this.#answer.reject(error);
  }

  #complete(): void {
    if (!this.#letGo()) return;
    this.#socket.destroy();
    this.#handler.onEnd();
  }

  /** Ends this exchange: removes all listeners. Returns false when the exchange had ended before. */
  #letGo(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#deadline);
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#socket
      .off('data', this.#onData)
      .off('end', this.#onEnd)
      .off('error', this.#onFault)
      .off('close', this.#onEnd);
    return true;
  }
}

function slowRefusal(member: MemberLabel): GatewayError {
  return fail('MEMBER_TIMEOUT', `${member.address} did not finish its answer to an upgrade`, member, undefined);
}

/** Returns why a 101 answer does not fit the request; undefined when it does. */
export function switchFault(headers: RawHeaders, token: string): string | undefined {
  let upgrades = 0;
  let named = false;
  let connection = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    const value = headers[i + 1]!;
    if (name === 'upgrade') {
      upgrades++;
      named = value.toLowerCase() === token.toLowerCase();
    } else if (name === 'connection') {
      connection ||= value.split(',').some((option) => option.trim().toLowerCase() === 'upgrade');
    }
  }
  if (upgrades !== 1 || !named) return 'it switched to another protocol than the one asked for';
  return connection ? undefined : 'it switched protocols without "Connection: Upgrade"';
}
