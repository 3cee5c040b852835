// Asks the hub for reviews over connections of the data path, which cost a fraction of node:https; with many users and
// clusters reviews are the dearest thing that requests cause (each pair every ten seconds). Easy to get wrong: whatever
// is not an ordinary answer (a refused credential, a connection that was closed while it idled, another trust than
// before) goes to the client of the hub, which knows what to do about it, so that there is one opinion about that.
import { GatewayError } from '../../cache/model/errors.ts';
import { isReview } from '../../cache/hub/hub-client.ts';
import type { HubAccess, HubConnection } from '../../cache/hub/hub-connection.ts';
import { hubFault, hubUnavailable } from '../../cache/hub/hub-faults.ts';
import type { HubAnswer, HubCall, HubClient } from '../../cache/hub/hub-types.ts';
import type { Credential, Endpoint } from '../../cache/model/records.ts';
import { hostHeader } from '../../routing/dial/endpoint-request.ts';
import { makeTransport } from '../../routing/dial/transport.ts';
import type { ResponseHandler, Transport, UpstreamCall } from '../../routing/members/transport-types.ts';

/** As many connections as the client opens for short requests. */
const connections = 64;
/** More than may wait for reviews of either kind. */
const pending = 4_096;
/** A review's answer is a few hundred bytes, of a user in thousands of groups some 100 KB. */
const maxAnswerBytes = 4 * 1024 * 1024;

/** Connections as one identity under one trust. */
interface Way {
  readonly transportKey: string;
  readonly certificate: Credential['clientCertificate'];
  readonly transport: Transport;
}

/** The answer; `again`: nothing was heard, and the client is to ask. */
type Outcome = HubAnswer | 'again';

/**
 * The client, but for reviews, which take the way of the data path.
 * @param connection of the hub, read anew for every review
 */
export function withCheapReviews(client: HubClient, connection: HubConnection, version: string): HubClient {
  const userAgent = `portcullis/${version}`;
  let way: Way | undefined;

  const leave = (left: Way): void => {
    left.transport.close('drain');
    if (way === left) way = undefined;
  };
  /** Undefined: there was none, or another; there is one now. */
  const wayTo = (access: HubAccess, { clientCertificate }: Credential): Way | undefined => {
    const { transportKey } = access;
    const now = way;
    const isSame =
      now?.transportKey === transportKey &&
      now.certificate?.cert === clientCertificate?.cert &&
      now.certificate?.key === clientCertificate?.key;
    if (isSame) return now;
    if (now !== undefined) leave(now);
    const { endpoint, tls } = access;
    const transport = makeTransport({
      clusterName: 'hub',
      endpoint,
      tls,
      proxy: undefined,
      clientCertificate,
      limits: { connections, pending },
    });
    way = { transportKey, certificate: clientCertificate, transport };
    return undefined;
  };
  /** Undefined where the client must ask. */
  const readyWay = ():
    | { readonly way: Way; readonly endpoint: Endpoint; readonly credential: Credential }
    | undefined => {
    try {
      const access = connection.current();
      const credential = access.credential.current();
      // While a plugin runs the client waits for it; what there is to say of one that failed is the client's word, too.
      if (credential instanceof Promise) return undefined;
      // The first request over another trust is the client's: its watches must follow as well.
      const same = wayTo(access, credential);
      return same && { way: same, endpoint: access.endpoint, credential };
    } catch {
      return undefined;
    }
  };

  const request = async (call: HubCall): Promise<HubAnswer> => {
    const ready = call.signal === undefined && isReview(call) ? readyWay() : undefined;
    if (ready === undefined) return client.request(call);
    const endMs = performance.now() + call.timeoutMs;
    const review = new Review(client.url, call.timeoutMs, () => leave(ready.way));
    const outcome = await review.start(ready.way.transport, {
      method: 'POST',
      target: ready.endpoint.basePath + call.path,
      headers: headersTo(ready.endpoint, ready.credential, userAgent),
      body: Buffer.from(JSON.stringify(call.body)),
    });
    if (outcome !== 'again' && outcome.status !== 401) return outcome;
    return client.request({ ...call, timeoutMs: Math.max(1, Math.ceil(endMs - performance.now())) });
  };

  return {
    get url() {
      return client.url;
    },
    request,
    open: (call) => client.open(call),
    close() {
      way?.transport.close('abort');
      way = undefined;
      client.close();
    },
  };
}

function headersTo(endpoint: Endpoint, { authorization }: Credential, userAgent: string): string[] {
  const headers = ['Host', hostHeader(endpoint), 'Accept', 'application/json', 'User-Agent', userAgent];
  if (authorization !== undefined) headers.push('Authorization', authorization);
  headers.push('Content-Type', 'application/json');
  return headers;
}

/** What goes out. */
interface Question {
  readonly method: 'POST';
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** One review on its way. */
class Review implements ResponseHandler {
  readonly #url: string;
  readonly #timeoutMs: number;
  readonly #onSilence: () => void;
  readonly #outcome = Promise.withResolvers<Outcome>();
  readonly #pieces: Buffer[] = [];
  #call: UpstreamCall | undefined;
  #timer: NodeJS.Timeout | undefined;
  #bytes = 0;
  #status = 0;
  #reused = false;

  /** @param onSilence no answer came in time: whatever idles may lead to the same dead end */
  constructor(url: string, timeoutMs: number, onSilence: () => void) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    this.#onSilence = onSilence;
  }

  /** @throws GatewayError (rejects) HUB_UNAVAILABLE */
  start(transport: Transport, { body, ...question }: Question): Promise<Outcome> {
    this.#timer = setTimeout(() => this.#timedOut(), this.#timeoutMs);
    this.#call = transport.send({ ...question, body: body.length, longRunning: false }, this);
    this.#call.write(body);
    this.#call.end();
    return this.#outcome.promise;
  }

  onSent(reused: boolean): void {
    this.#reused = reused;
  }

  onHeaders(status: number): void {
    this.#status = status;
  }

  onData(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= maxAnswerBytes) {
      this.#pieces.push(chunk);
      return;
    }
    this.#call?.abort();
    this.#fail(hubUnavailable(this.#url, 'its answer to a review is longer than 4 MiB'));
  }

  onEnd(): void {
    clearTimeout(this.#timer);
    const pieces = this.#pieces;
    this.#outcome.resolve({
      status: this.#status,
      body: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces),
    });
  }

  onError(error: GatewayError, afterHeaders: boolean): void {
    // Reviews change nothing, so what a connection that idled has swallowed may be sent again.
    if (this.#reused && !afterHeaders) {
      clearTimeout(this.#timer);
      this.#outcome.resolve('again');
      return;
    }
    const { cause } = error;
    const isOwn = cause === undefined || cause instanceof GatewayError;
    this.#fail(isOwn ? hubUnavailable(this.#url, error.message, error) : hubFault(this.#url, cause));
  }

  #timedOut(): void {
    this.#call?.abort();
    this.#onSilence();
    this.#fail(hubUnavailable(this.#url, `nothing within ${this.#timeoutMs / 1000} s`));
  }

  #fail(error: GatewayError): void {
    clearTimeout(this.#timer);
    this.#outcome.reject(error);
  }
}
