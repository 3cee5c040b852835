// Forwards one upgrade (exec, attach, port-forward, watch over WebSocket): sends the request, and connects the two
// sockets after the member's 101. Easy to get wrong: an answer with another status is an ordinary answer, after which
// both connections close (CVE-2018-1002105). Client bytes sent before the 101 would be read as requests on a connection
// authenticated as the gateway (rule "upgrades are closed until 101" in docs/rules.md).
import type { Duplex } from 'node:stream';
import { GatewayError } from '../../model/errors.ts';
import type { Breaker } from '../call/breaker.ts';
import { credentialRefused } from '../call/member-faults.ts';
import type { InboundUpgrade } from '../../http/inbound.ts';
import { challengesOf, relayedHeaders } from './headers.ts';
import { headerValues } from '../../http/raw-headers.ts';
import { servedUpgrade } from '../../http/upgrade-offer.ts';
import type { UpgradeToken } from '../../http/upgrade-offer.ts';
import { LastWords } from './last-words.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';
import { refusedImpersonation } from './warning.ts';
import type { Forwarding, Progress } from './stream.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ResponseHandler, Transport, UpgradeAnswer, UpstreamRequest } from '../call/transport-types.ts';
import { tellsStatus } from './websocket-messages.ts';

/**
 * The protocol that a request asks to upgrade to; undefined when it is no upgrade. The HTTP server has treated requests
 * with an unsupported `Upgrade` field as ordinary ones (http/upgrade-offer.ts), so of the errors below only the one
 * about the method is expected.
 * @throws GatewayError BAD_UPGRADE for another protocol, several protocols, or a method other than GET and POST
 */
export function upgradeToken(method: string, headers: RawHeaders): UpgradeToken | undefined {
  const upgrades = headerValues(headers, 'upgrade');
  const connection = headerValues(headers, 'connection')
    .flatMap((value) => value.split(','))
    .map((item) => item.trim().toLowerCase());
  if (upgrades.length === 0 && !connection.includes('upgrade')) return undefined;
  if (upgrades.length !== 1 || !connection.includes('upgrade')) {
    throw new GatewayError('BAD_UPGRADE', 'an upgrade needs exactly one Upgrade header and "Connection: Upgrade"');
  }
  const known = servedUpgrade(upgrades[0]!);
  if (known === undefined) {
    throw new GatewayError('BAD_UPGRADE', 'only upgrades to "websocket" and "SPDY/3.1" are supported');
  }
  if (method !== 'GET' && method !== 'POST') {
    throw new GatewayError('BAD_UPGRADE', 'an upgrade request must use GET or POST');
  }
  return known;
}

/** Everything that forwardUpgrade needs. */
export interface UpgradeForwarding {
  readonly clusterName: string;
  readonly clusterUid: string;
  readonly inbound: InboundUpgrade;
  readonly request: UpstreamRequest;
  readonly token: UpgradeToken;
  readonly transport: Transport;
  readonly breaker: Breaker;
  readonly openStreams: OpenStreams;
  readonly progress: Progress;
  /** An object whose `error` is set to the reason when the gateway itself ends the session, for example in a drain. */
  readonly outcome?: { error: unknown };
  readonly auditId: string;
  readonly onCredentialRefused: () => void;
  readonly isApplication: Forwarding['isApplication'];
}

/**
 * Forwards one upgrade request and resolves when both sockets are closed.
 * @throws GatewayError (rejects) only if the client has had no answer
 */
export async function forwardUpgrade(forwarding: UpgradeForwarding): Promise<void> {
  forwarding.breaker.enter();
  await new UpgradeRun(forwarding).run();
}

class UpgradeRun implements OpenStream {
  readonly kind = 'upgrade';
  readonly clusterName: string;
  readonly clusterUid: string;
  place = -1;
  readonly #forwarding: UpgradeForwarding;
  readonly #giveUp = new AbortController();
  /** The sockets of client and member, once bytes are copied between them. */
  #joined: readonly Duplex[] = [];
  #aborted: GatewayError | undefined;
  #words: LastWords | undefined;

  constructor(forwarding: UpgradeForwarding) {
    this.#forwarding = forwarding;
    this.clusterName = forwarding.clusterName;
    this.clusterUid = forwarding.clusterUid;
  }

  endAtBoundary(): boolean {
    return false;
  }

  abort(reason: GatewayError): void {
    this.#report(reason);
    this.#aborted = reason;
    this.#giveUp.abort();
    for (const socket of this.#joined) socket.destroy();
  }

  end(reason: GatewayError, statusJson: string): void {
    // A client that does not read would not read the final message either.
    if (this.#words === undefined || this.blockedSinceMs > 0) return this.abort(reason);
    this.#report(reason);
    this.#words.end(statusJson);
  }

  get blockedSinceMs(): number {
    return this.#forwarding.progress.blockedSinceMs ?? 0;
  }

  #report(reason: GatewayError): void {
    const { outcome } = this.#forwarding;
    if (outcome !== undefined) outcome.error ??= reason;
  }

  async run(): Promise<void> {
    const { inbound, openStreams, transport, request, token, progress } = this.#forwarding;
    const { signal } = this.#giveUp;
    openStreams.add(this);
    progress.open = this;
    inbound.onClose((cut) => {
      if (cut) this.#giveUp.abort();
    });
    const waiting = holdClient(inbound);
    const relay = new RefusedUpgrade(this.#forwarding);
    try {
      const answer = await transport.upgrade(request, token, relay, signal);
      waiting.over();
      if (answer.kind === 'refused') await relay.done;
      else if (inbound.closed || signal.aborted) {
        answer.socket.destroy();
        if (this.#aborted !== undefined) throw this.#aborted;
      } else await this.#join(answer, waiting.early());
    } catch (error) {
      this.#failed(error);
    } finally {
      waiting.over();
      openStreams.delete(this);
    }
  }

  async #join(answer: UpgradeAnswer & { readonly kind: 'switched' }, early: Buffer): Promise<void> {
    const { inbound, token, progress, auditId } = this.#forwarding;
    const client = inbound.socket;
    this.#joined = [client, answer.socket];
    const [subprotocol = ''] = headerValues(answer.headers, 'sec-websocket-protocol');
    if (token === 'websocket' && tellsStatus(subprotocol)) this.#words = new LastWords(client, answer.socket);
    progress.status = 101;
    progress.firstByteAtMs = performance.now();
    progress.onAnswering?.();
    client.write(switchingHead(token, answer.headers, auditId), 'latin1');
    await joinSockets(client, early, answer.socket, answer.head, progress, this.#words);
  }

  /**
   * Informs the breaker, and throws the error with which the client is answered. Throws nothing if the client has
   * disconnected.
   */
  #failed(error: unknown): void {
    const { breaker, progress } = this.#forwarding;
    const { aborted } = this.#giveUp.signal;
    if (this.#aborted !== undefined) throw this.#aborted;
    if (progress.sentAtMs === 0 && error instanceof GatewayError && !aborted) breaker.fail(error);
    else breaker.forget();
    if (aborted) return;
    // Stops the request to the member: after its status was treated as an error, its body may still be arriving.
    this.#giveUp.abort();
    throw error;
  }
}

/**
 * Maximum number of client bytes that are buffered before the member has answered. Then reading pauses, and further
 * bytes stay in the socket.
 */
const earlyLimitBytes = 64 * 1024;

/**
 * Reads from the client while the member has not answered, since only reading shows that a client has disconnected. The
 * bytes are kept for the member until its 101. `over()` stops reading, `early()` returns the bytes.
 */
function holdClient({ socket, early }: InboundUpgrade): { over(): void; early(): Buffer } {
  const held = [early];
  let bytes = early.length;
  const onData = (chunk: Buffer): void => {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes > earlyLimitBytes) socket.pause();
  };
  const onEnd = (): void => void socket.destroy();
  socket.on('data', onData).on('end', onEnd);
  if (bytes <= earlyLimitBytes) socket.resume();
  return {
    over: () => void socket.off('data', onData).off('end', onEnd),
    early() {
      socket.pause();
      return Buffer.concat(held);
    },
  };
}

function switchingHead(token: UpgradeToken, received: RawHeaders, auditId: string): string {
  const { headers } = relayedHeaders(received);
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${token}`];
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.toLowerCase() !== 'content-length') lines.push(`${headers[i]!}: ${headers[i + 1]!}`);
  }
  lines.push(`Audit-Id: ${auditId}`, '', '');
  return lines.join('\r\n');
}

/**
 * Copies bytes in both directions, with backpressure, until both sockets are closed. When one side ends cleanly, the
 * other side's writing is ended too, so data in the opposite direction still arrives. When one side fails, the other is
 * destroyed.
 */
export function joinSockets(
  client: Duplex,
  early: Buffer,
  member: Duplex,
  head: Buffer,
  progress: Pick<Progress, 'bytesIn' | 'bytesOut' | 'ending' | 'blockedSinceMs'>,
  words?: LastWords,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let open = 2;
  const oneWay = (from: Duplex, to: Duplex, count: (bytes: number) => void, gone: Progress['ending']): void => {
    let ended = false;
    from.on('data', (chunk: Buffer) => {
      count(chunk.length);
      const piece = words !== undefined && from === member ? words.pass(chunk) : chunk;
      if (!to.writable || to.write(piece)) return;
      if (to === client) progress.blockedSinceMs ||= performance.now();
      from.pause();
    });
    to.on('drain', () => {
      if (to === client && progress.blockedSinceMs !== undefined) progress.blockedSinceMs = 0;
      from.resume();
    });
    from.on('end', () => {
      ended = true;
      to.end();
    });
    from.on('error', () => from.destroy());
    from.on('close', () => {
      if (progress.ending === 'open') progress.ending = ended ? 'complete' : gone;
      if (!ended && (from === client || words?.said !== true)) to.destroy();
      else if (!to.writableFinished) to.once('finish', () => to.destroy());
      else to.destroy();
      open -= 1;
      if (open === 0) resolve();
    });
    if (from.destroyed) from.emit('close');
  };
  oneWay(client, member, (bytes) => (progress.bytesIn += bytes), 'client-gone');
  oneWay(member, client, (bytes) => (progress.bytesOut += bytes), 'member-broke-off');
  if (early.length > 0) member.write(early);
  if (head.length > 0) client.write(words === undefined ? head : words.pass(head));
  client.resume();
  member.resume();
  return promise;
}

/**
 * Forwards an answer other than 101, then closes the connection. Only errors are forwarded; a success or redirect makes
 * no sense as an answer to an upgrade.
 */
class RefusedUpgrade implements ResponseHandler {
  readonly done: Promise<void>;
  readonly #forwarding: UpgradeForwarding;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  #head: { readonly status: number; readonly headers: RawHeaders } | undefined;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(forwarding: UpgradeForwarding) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.done = promise;
    this.#forwarding = forwarding;
    this.#resolve = resolve;
    this.#reject = reject;
    // When transport.upgrade() throws an error before the answer, nobody awaits this promise, so its rejection must be
    // handled here.
    promise.catch(() => undefined);
  }

  onSent(): void {
    this.#forwarding.progress.sentAtMs = performance.now();
    this.#forwarding.breaker.succeed();
  }

  onHeaders(status: number, headers: RawHeaders): void {
    this.#head = { status, headers };
    // The body of an answer below 400 is not forwarded, so its end is not awaited. It might never come: a server that
    // ignores the Upgrade header may send an endless stream.
    if (status < 400) this.#answer();
  }

  onData(chunk: Buffer): void {
    // Error bodies are small. Once 64 KiB of a body are buffered, further chunks are dropped.
    if (this.#bytes < 65_536) this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  onEnd(): void {
    this.#answer();
  }

  onError(error: GatewayError, afterHeaders: boolean): void {
    if (afterHeaders) this.#answer();
    else this.#reject(error);
  }

  #answer(): void {
    const { clusterName, inbound, progress, auditId, onCredentialRefused, isApplication } = this.#forwarding;
    const { status, headers: received } = this.#head!;
    if (status === 401 && !isApplication) {
      onCredentialRefused();
      this.#reject(credentialRefused(clusterName));
      return;
    }
    if (status < 400) {
      this.#reject(
        new GatewayError(
          status >= 300 ? 'MEMBER_REDIRECT' : 'MEMBER_BAD_RESPONSE',
          `cluster "${clusterName}" answered an upgrade request with ${status}, not with 101`,
          { cluster: clusterName },
        ),
      );
      return;
    }
    const body = Buffer.concat(this.#chunks);
    const { headers } = relayedHeaders(received);
    const kept: string[] = [];
    for (let i = 0; i < headers.length; i += 2) {
      if (headers[i]!.toLowerCase() !== 'content-length') kept.push(headers[i]!, headers[i + 1]!);
    }
    if (status === 401) kept.push(...challengesOf(received));
    kept.push('Audit-Id', auditId, 'Content-Length', String(body.length));
    if (status === 403) for (const warning of refusedImpersonation(clusterName, body)) kept.push('Warning', warning);
    progress.status = status;
    progress.firstByteAtMs = performance.now();
    progress.ending = 'complete';
    progress.onAnswering?.();
    inbound.respond(status, kept, false);
    if (body.length > 0) inbound.write(body);
    inbound.end();
    this.#resolve();
  }
}
