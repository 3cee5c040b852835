// Sends TokenReviews and SubjectAccessReviews to the hub with the gateway's own HTTP client, which costs a fraction of
// node:https. With many users and clusters, reviews are the largest cost of requests: one for each pair of user and
// cluster every ten seconds. When a review gets no ordinary answer (the credential was refused, an idle connection was
// closed, the TLS settings changed), the ordinary client of the hub sends it again, so that one place handles these
// cases.
import { GatewayError } from '../../model/errors.ts';
import { isReview } from '../../kube/client/hub-client.ts';
import type { HubAccess, HubConnection } from '../../kube/client/connection.ts';
import { hubFault, hubUnavailable } from '../../kube/faults.ts';
import type { ApiAnswer, ApiCall, ApiClient } from '../../kube/types.ts';
import type { Credential, Endpoint } from '../../model/records.ts';
import { hostHeader } from '../../routing/pools/endpoint-request.ts';
import { makeTransport } from '../../routing/pools/transport.ts';
import type { ResponseHandler, Transport, UpstreamCall } from '../../routing/call/transport-types.ts';

/** Maximum number of connections for reviews, as many as the ordinary client of the hub opens for short requests. */
const connections = 64;
/** How many reviews may wait for a connection; callers never have this many reviews open at once. */
const pending = 4_096;
/**
 * Maximum bytes of an answer. The answer to a review has a few hundred bytes; for a user in thousands of groups it has
 * some 100 KB.
 */
const maxAnswerBytes = 4 * 1024 * 1024;

/** Connections that were made with one client certificate and one set of TLS settings. */
interface Path {
  readonly transportKey: string;
  readonly certificate: Credential['clientCertificate'];
  readonly transport: Transport;
}

/** Connections, address and credential for sending one review. */
interface ReadyPath {
  readonly path: Path;
  readonly endpoint: Endpoint;
  readonly credential: Credential;
}

/**
 * The answer of the hub. `again` means that no answer was received and that the ordinary client of the hub must send
 * the review.
 */
type Outcome = ApiAnswer | 'again';

/**
 * Makes a hub client that sends TokenReviews and SubjectAccessReviews with the gateway's own HTTP client, and
 * everything else with `client`.
 * @param connection address and credential of the hub; read anew for every review
 */
export function withCheapReviews(client: ApiClient, connection: HubConnection, version: string): ApiClient {
  return new CheapReviews(client, connection, `portcullis/${version}`);
}

class CheapReviews implements ApiClient {
  readonly #client: ApiClient;
  readonly #connection: HubConnection;
  readonly #userAgent: string;
  #path: Path | undefined;

  constructor(client: ApiClient, connection: HubConnection, userAgent: string) {
    this.#client = client;
    this.#connection = connection;
    this.#userAgent = userAgent;
  }

  get url(): string {
    return this.#client.url;
  }

  async request(call: ApiCall): Promise<ApiAnswer> {
    const ready = call.signal === undefined && isReview(call) ? this.#readyPath() : undefined;
    if (ready === undefined) return this.#client.request(call);
    const endMs = performance.now() + call.timeoutMs;
    const review = new Review(this.#client.url, call.timeoutMs, () => this.#leave(ready.path));
    const outcome = await review.start(ready.path.transport, {
      method: 'POST',
      target: ready.endpoint.basePath + call.path,
      headers: headersTo(ready.endpoint, ready.credential, this.#userAgent),
      body: Buffer.from(JSON.stringify(call.body)),
    });
    if (outcome !== 'again' && outcome.status !== 401) return outcome;
    return this.#client.request({ ...call, timeoutMs: Math.max(1, Math.ceil(endMs - performance.now())) });
  }

  open(call: Parameters<ApiClient['open']>[0]): ReturnType<ApiClient['open']> {
    return this.#client.open(call);
  }

  close(): void {
    this.#path?.transport.close('abort');
    this.#path = undefined;
    this.#client.close();
  }

  /**
   * Returns connections, address and credential for sending a review; undefined when the ordinary client of the hub
   * must send it.
   */
  #readyPath(): ReadyPath | undefined {
    try {
      const access = this.#connection.current();
      const credential = access.credential.current();
      // A Promise means that an exec plugin is fetching the credential. The ordinary client waits for the plugin and
      // reports its failure.
      if (credential instanceof Promise) return undefined;
      const path = this.#pathTo(access, credential);
      return path && { path, endpoint: access.endpoint, credential };
    } catch {
      return undefined;
    }
  }

  /**
   * Returns the connections to use. When there are none yet, or when the TLS settings or the certificate have changed,
   * new connections are made and undefined is returned. The ordinary client of the hub then sends this one review, and
   * by doing so notices the change and renews its watches.
   */
  #pathTo({ transportKey, endpoint, tls }: HubAccess, { clientCertificate }: Credential): Path | undefined {
    const now = this.#path;
    const isSame =
      now?.transportKey === transportKey &&
      now.certificate?.cert === clientCertificate?.cert &&
      now.certificate?.key === clientCertificate?.key;
    if (isSame) return now;
    if (now !== undefined) this.#leave(now);
    const transport = makeTransport({
      clusterName: 'hub',
      endpoint,
      tls,
      proxy: undefined,
      clientCertificate,
      limits: { connections, pending },
    });
    this.#path = { transportKey, certificate: clientCertificate, transport };
    return undefined;
  }

  #leave(left: Path): void {
    left.transport.close('drain');
    if (this.#path === left) this.#path = undefined;
  }
}

function headersTo(endpoint: Endpoint, { authorization }: Credential, userAgent: string): string[] {
  const headers = ['Host', hostHeader(endpoint), 'Accept', 'application/json', 'User-Agent', userAgent];
  if (authorization !== undefined) headers.push('Authorization', authorization);
  headers.push('Content-Type', 'application/json');
  return headers;
}

/** The HTTP request of a review. */
interface Question {
  readonly method: 'POST';
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** One review that has been sent. */
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

  /** @param onSilence called when no answer came in time, because other idle connections may be dead as well */
  constructor(url: string, timeoutMs: number, onSilence: () => void) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    this.#onSilence = onSilence;
  }

  /**
   * Sends the review; resolves with the answer.
   * @throws GatewayError (rejects) HUB_UNAVAILABLE when the hub does not answer
   */
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
    // A review changes nothing on the hub. So a review that was lost on a connection that had been idle can be sent
    // again.
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
    this.#fail(hubUnavailable(this.#url, `it did not answer within ${this.#timeoutMs / 1000} s`));
  }

  #fail(error: GatewayError): void {
    clearTimeout(this.#timer);
    this.#outcome.reject(error);
  }
}
