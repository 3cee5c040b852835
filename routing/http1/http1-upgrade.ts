// Asks a member for an upgrade on a connection of its own. Easy to get wrong: only a 101 that names exactly the
// protocol we asked for makes the connection a tunnel; after any other answer the socket is destroyed, because whoever
// owned it would be authenticated as the gateway (CVE-2018-1002105).
import type { Socket } from 'node:net';
import { GatewayError } from '../../cache/model/errors.ts';
import { ResponseFault } from '../../http/http1/chunked-body.ts';
import type { Protocols } from '../dial/connect.ts';
import type { EndpointChoice } from '../dial/endpoint-choice.ts';
import { badResponse, fail, memberFault } from '../members/member-faults.ts';
import type { MemberLabel } from '../members/member-faults.ts';
import { requestHead } from './request-head.ts';
import { ResponseParser } from './response-parser.ts';
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
  /** Told of the socket as soon as it is connected. */
  readonly onSocket: (socket: Socket) => void;
}

/** @throws GatewayError (rejects) when no answer came; after an answer, faults arrive at the handler */
export async function requestUpgrade(attempt: UpgradeAttempt): Promise<UpgradeAnswer> {
  const { open, request, token, signal, onSocket } = attempt;
  if (request.body !== 'none' && request.body !== 0) {
    throw new GatewayError('INTERNAL', 'the gateway built an upgrade request with a body; it was not sent');
  }
  // Checked before anybody is connected to; the endpoint that takes it changes no more than Host and base path.
  requestHead(request, token);
  const { socket, member, request: final } = await open(request, protocols, signal);
  onSocket(socket);
  try {
    return await awaitAnswer(attempt, socket, member, requestHead(final, token));
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function awaitAnswer(
  attempt: UpgradeAttempt,
  socket: Socket,
  member: MemberLabel,
  head: string,
): Promise<UpgradeAnswer> {
  const { handler, signal, token } = attempt;
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeAnswer>();
  let refused = false;
  let switched: RawHeaders | undefined;
  let refusalBytes = 0;
  let deadline: NodeJS.Timeout | undefined;
  let over = false;

  const letGo = (): boolean => {
    if (over) return false;
    over = true;
    clearTimeout(deadline);
    signal.removeEventListener('abort', onAbort);
    socket.off('data', onData).off('end', onEnd).off('error', onFault).off('close', onEnd);
    return true;
  };
  const giveUp = (error: GatewayError): void => {
    if (!letGo()) return;
    socket.destroy();
    if (refused) handler.onError(error, true);
    else reject(error);
  };
  const complete = (): void => {
    if (!letGo()) return;
    socket.destroy();
    handler.onEnd();
  };
  const onAbort = (): void => giveUp(fail('MEMBER_UNAVAILABLE', 'the upgrade was given up', member, undefined));
  const onFault = (error: unknown): void => giveUp(memberFault(error, member, 'request'));
  const onEnd = (): void => {
    if (refused && parser.finish()) complete();
    else
      giveUp(
        fail('MEMBER_UNAVAILABLE', `${member.address} closed the connection during the upgrade`, member, undefined),
      );
  };
  const onData = (chunk: Buffer): void => {
    try {
      const used = parser.push(chunk);
      if (switched !== undefined) handOver(switched, chunk.subarray(used));
      else if (parser.complete) complete();
    } catch (error) {
      giveUp(
        error instanceof ResponseFault ? badResponse(error.message, member) : memberFault(error, member, 'request'),
      );
    }
  };
  const handOver = (headers: RawHeaders, rest: Buffer): void => {
    const fault = switchFault(headers, token);
    if (fault !== undefined) giveUp(badResponse(fault, member));
    else if (letGo()) {
      socket.pause();
      resolve({ kind: 'switched', headers, socket, head: rest });
    }
  };
  const parser = new ResponseParser({
    onHeaders(status, headers) {
      if (status === 101) {
        switched = headers;
        return;
      }
      refused = true;
      deadline = setTimeout(() => giveUp(slowRefusal(member)), refusalTimeoutMs);
      handler.onHeaders(status, headers);
      resolve({ kind: 'refused' });
    },
    onData(chunk) {
      refusalBytes += chunk.length;
      if (over) return;
      if (refusalBytes > maxRefusalBytes) giveUp(badResponse('its refusal of an upgrade is longer than 1 MiB', member));
      else handler.onData(chunk);
    },
  });

  parser.begin('upgrade');
  socket.on('data', onData).on('end', onEnd).on('error', onFault).on('close', onEnd);
  signal.addEventListener('abort', onAbort);
  socket.resume();
  socket.write(head, 'latin1');
  handler.onSent?.(false);
  return promise;
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
