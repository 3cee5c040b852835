// One upgraded connection (exec, attach, port-forward, watch over WebSocket): asks the member, and joins the two
// sockets after its 101. Easy to get wrong: anything but 101 is an ordinary answer that closes both sides
// (CVE-2018-1002105). A byte of the client sent before the 101 would run on a connection that is authenticated as the
// gateway (rule "upgrades are closed until 101").
import type { Duplex } from 'node:stream';
import { GatewayError } from '../../cache/model/errors.ts';
import type { Breaker } from '../members/breaker.ts';
import type { InboundUpgrade } from '../../http/inbound.ts';
import { challengesOf, headerValues, relayedHeaders } from './headers.ts';
import { LastWords } from './last-words.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';
import { refusedImpersonation } from './refusals.ts';
import type { Forwarding, Progress } from './stream.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ResponseHandler, Transport, UpgradeAnswer, UpstreamRequest } from '../members/transport-types.ts';
import { tellsStatus } from './websocket-messages.ts';

/** The two protocols Kubernetes upgrades to (KEP-4006; RFC 6455; SPDY/3.1). */
export type UpgradeToken = 'websocket' | 'SPDY/3.1';

/**
 * The protocol an upgrade request asks for, or undefined when it is no upgrade.
 * @throws GatewayError BAD_UPGRADE for any other token, several tokens, or a method other than GET and POST
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
  const token = upgrades[0]!.trim();
  const known =
    token.toLowerCase() === 'websocket' ? 'websocket' : token.toUpperCase() === 'SPDY/3.1' ? 'SPDY/3.1' : undefined;
  if (known === undefined) {
    throw new GatewayError('BAD_UPGRADE', 'only upgrades to "websocket" and "SPDY/3.1" are served');
  }
  if (method !== 'GET' && method !== 'POST') {
    throw new GatewayError('BAD_UPGRADE', 'an upgrade is asked for by GET or POST');
  }
  return known;
}

/** Everything forwardUpgrade needs. */
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
  /** Where it is noted why the session was ended from outside. */
  readonly outcome?: { error: unknown };
  readonly auditId: string;
  readonly onCredentialRefused: () => void;
  readonly isApplication: Forwarding['isApplication'];
}

/**
 * Forwards one upgrade request and resolves when both sockets are closed.
 * @throws GatewayError (rejects) only while the client has had no answer
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
  /** Both sockets, once they are joined. */
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
    // A client that reads nothing would not read this either.
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

  /** Reports to the breaker, and throws what the client is answered with; a client that is gone gets nothing. */
  #failed(error: unknown): void {
    const { breaker, progress } = this.#forwarding;
    const { aborted } = this.#giveUp.signal;
    if (this.#aborted !== undefined) throw this.#aborted;
    if (progress.sentAtMs === 0 && error instanceof GatewayError && !aborted) breaker.fail(error);
    else breaker.forget();
    if (aborted) return;
    // The member may still be sending the body of an answer that its status decided.
    this.#giveUp.abort();
    throw error;
  }
}

/** Bytes of a client that are held while the member has not answered; more stay in its socket. */
const earlyLimitBytes = 64 * 1024;

/**
 * Reads the client while the member is asked, because only a socket that is read shows that the client is gone. Its
 * bytes are kept for after the 101; `over` gives the socket back.
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
 * Copies bytes both ways with backpressure until both sides are done. An orderly end of one side is passed to the other
 * as an end, so a half-closed stream still delivers what is under way; a fault of one side destroys the other.
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
 * Relays the answer to an upgrade that was not 101, then closes: only errors pass, success and redirects are nonsense
 * here.
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
    // A fault before the answer is reported by transport.upgrade itself; this promise is not awaited then.
    promise.catch(() => undefined);
  }

  onSent(): void {
    this.#forwarding.progress.sentAtMs = performance.now();
    this.#forwarding.breaker.succeed();
  }

  onHeaders(status: number, headers: RawHeaders): void {
    this.#head = { status, headers };
    // Nothing of such a body is passed on, and it may never end: a server that ignores Upgrade streams as to any GET.
    if (status < 400) this.#answer();
  }

  onData(chunk: Buffer): void {
    // Errors are small; what is beyond 64 KiB of one is left out.
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
      this.#reject(
        new GatewayError('MEMBER_CREDENTIAL', `cluster "${clusterName}" refused the gateway's own credential (401)`, {
          cluster: clusterName,
        }),
      );
      return;
    }
    if (status < 400) {
      this.#reject(
        new GatewayError(
          status >= 300 ? 'MEMBER_REDIRECT' : 'MEMBER_BAD_RESPONSE',
          `cluster "${clusterName}" answered an upgrade with ${status}`,
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
