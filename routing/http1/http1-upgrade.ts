// Asks a member for an upgrade on a connection of its own. Easy to get wrong: only a 101 that names exactly the
// protocol we asked for makes the connection a tunnel. After any other answer the socket is destroyed: a client that
// got it would be authenticated as the gateway (CVE-2018-1002105; rule "upgrades are closed until 101").
import type { Socket } from 'node:net';
import { GatewayError } from '../../cache/model/errors.ts';
import { ResponseFault } from '../../http/http1/chunked-body.ts';
import type { Protocols } from '../dial/connect.ts';
import type { EndpointChoice } from '../dial/endpoint-choice.ts';
import { badResponse, fail, memberFault } from '../members/member-faults.ts';
import type { MemberLabel } from '../members/member-faults.ts';
import { requestHead } from './request-head.ts';
import { ResponseParser } from './response-parser.ts';
import type { ResponseSink } from './response-parser.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ResponseHandler, UpgradeAnswer, UpstreamRequest } from '../members/transport-types.ts';

/** Bytes of a refusal that are passed on; the caller cannot hold the member back here. */
const maxRefusalBytes = 1024 * 1024;
/** How long the body of a refusal may take. */
const refusalTimeoutMs = 10_000;

const protocols: Protocols = ['http/1.1'];

/** One upgrade to ask for; see {@link Transport.upgrade} of transport-types.ts. */
export interface UpgradeAttempt {
  /** Opens the connection. */
  readonly open: EndpointChoice['open'];
  readonly request: UpstreamRequest;
  readonly token: string;
  readonly handler: ResponseHandler;
  /** Destroys the connection, unless it was handed over already. */
  readonly signal: AbortSignal;
  /** Called with the socket as soon as it is connected. */
  readonly onSocket: (socket: Socket) => void;
}

/** @throws GatewayError (rejects) when no answer came; after an answer, faults arrive at the handler */
export async function requestUpgrade(attempt: UpgradeAttempt): Promise<UpgradeAnswer> {
  const { open, request, token, signal, onSocket } = attempt;
  if (request.body !== 'none' && request.body !== 0) {
    throw new GatewayError('INTERNAL', 'the gateway built an upgrade request with a body; it was not sent');
  }
  // Checked before a connection is opened; the endpoint that takes it changes only Host and base path.
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

/** The exchange on one connection, until it is handed over or closed. */
class UpgradeExchange implements ResponseSink {
  readonly #handler: ResponseHandler;
  readonly #signal: AbortSignal;
  readonly #token: string;
  readonly #socket: Socket;
  readonly #member: MemberLabel;
  readonly #parser = new ResponseParser(this);
  readonly #answer = Promise.withResolvers<UpgradeAnswer>();
  /** Headers of a 101. */
  #switched: RawHeaders | undefined;
  /** The member gave another answer, and the caller has its head. */
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

  /** Sends the request. Rejects with a GatewayError when no answer came. */
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
    this.#giveUp(fail('MEMBER_UNAVAILABLE', 'the upgrade was given up', this.#member, undefined));

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

  /** Stops listening; false when it has stopped before. */
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

/** Why a 101 is not an answer to what we asked, or undefined when it is. */
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
