// A small HTTPS client for the gateway: sends one request, and turns errors into a Failure with advice. Security:
// redirects are never followed, because the token would be sent to the new address.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { getCACertificates } from 'node:tls';
import { explainConnection, explainStatus } from './explain.ts';
import { Failure } from '../terminal/failure.ts';
import type { Connection } from './gateway-connection.ts';
import { bodyOf } from '../../kube/call-body.ts';
import type { ApiAnswer, ApiCall } from '../../kube/types.ts';
import { retryAfterMsOf } from '../../lib/backoff.ts';
import { jsonIn } from '../../lib/json/exact-json.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';

/** Limits of one request. */
export interface RequestLimits {
  /** Milliseconds from connecting to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Longest accepted body in bytes; a longer one fails the request. */
  readonly maxBytes: number;
}

/** By default: enough for a list of 10,000 clusters over a slow line, and not longer than a person would wait. */
export const defaultLimits: RequestLimits = { timeoutMs: 30_000, maxBytes: 64 * 1024 * 1024 };

/**
 * Sends a GET to a path below the gateway's root and returns the JSON object in the answer.
 * @param path the path, with a leading slash
 * @param accept value of the Accept header
 * @throws Failure when the gateway cannot be reached, refuses, or answers something that is not a JSON object
 */
export async function getJson(
  connection: Connection,
  path: string,
  accept: string,
  limits: RequestLimits = defaultLimits,
): Promise<JsonObject> {
  return await askJson(connection, { method: 'GET', path, accept }, explainStatus, limits);
}

/** Makes a {@link Failure} from an answer with a status other than 200. */
export type ExplainStatus = (status: number, body: Buffer, connection: Connection) => Failure;

/**
 * Sends a request and returns the JSON object in the answer.
 * @param explain makes the Failure for an answer with a status other than 200
 * @throws Failure when the gateway cannot be reached, refuses, or answers something that is not a JSON object
 */
export async function askJson(
  connection: Connection,
  call: Call,
  explain: ExplainStatus,
  limits: RequestLimits = defaultLimits,
): Promise<JsonObject> {
  const answer = await send(connection, call, limits);
  if (answer.status !== 200) throw explain(answer.status, answer.body, connection);
  const parsed = jsonIn(answer.body);
  if (!isJsonObject(parsed)) {
    throw new Failure(
      `${connection.root} answered something that is not a Kubernetes object`,
      "Check that the address is the gateway's --listen address and not another web server's.",
    );
  }
  return parsed;
}

/** One request to the server of a connection; the path is appended to the base URL of the connection. */
export type Call = Pick<ApiCall, 'method' | 'path' | 'body' | 'accept' | 'contentType'>;

/**
 * Makes an agent for many requests to one server. The agent keeps connections open, so that further requests need no
 * TLS handshake.
 * @param connections maximum number of connections at the same time
 */
export function keepingAgent(connection: Connection, connections: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: connections, proxyEnv: connection.proxyEnv, ...tlsOf(connection) });
}

/**
 * Sends one request; resolves with the answer, whatever its status.
 * @param agent from {@link keepingAgent}; without an agent, the request has a connection of its own, which is closed
 * afterwards
 * @throws Failure (rejects) when the server cannot be reached or the body is too long
 */
export async function send(
  connection: Connection,
  call: Call,
  limits: RequestLimits = defaultLimits,
  agent?: Agent,
): Promise<ApiAnswer> {
  try {
    return await sendOnce(connection, call, limits, agent);
  } catch (error) {
    throw error instanceof Failure ? error : explainConnection(error, connection, limits.timeoutMs);
  }
}

function sendOnce(connection: Connection, call: Call, limits: RequestLimits, agent?: Agent): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(limits.timeoutMs);
    const request = open(connection, call, { agent, signal }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > limits.maxBytes) {
          // The promise must be rejected before the request is destroyed. When the whole answer has arrived already,
          // the event 'end' follows at once and would resolve the promise.
          reject(new Failure(`${connection.root} answered more than ${limits.maxBytes} bytes`, 'Check --server.'));
          request.destroy();
        }
      });
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks),
          retryAfterMs: retryAfterMsOf(response.headers['retry-after']),
        }),
      );
    });
    request.once('error', reject);
    request.end(bodyOf(call));
  });
}

/**
 * Makes a request whose body is read while it arrives, such as a watch. The caller must call `end` on the result to
 * send the request, and listen for 'error'.
 * @param onAnswer called when status and headers have arrived
 */
export function open(
  connection: Connection,
  call: Call,
  { agent, signal }: { readonly agent?: Agent | undefined; readonly signal: AbortSignal },
  onAnswer: (response: IncomingMessage) => void,
): ClientRequest {
  const body = bodyOf(call);
  return request(
    new URL(connection.root + call.path),
    {
      agent: agent ?? new Agent({ keepAlive: false, proxyEnv: connection.proxyEnv, ...tlsOf(connection) }),
      method: call.method,
      headers: {
        accept: call.accept ?? 'application/json',
        ...(body === undefined
          ? {}
          : { 'content-type': call.contentType ?? 'application/json', 'content-length': String(body.length) }),
        'user-agent': 'portcullis-cli',
        ...(connection.token === undefined ? {} : { authorization: `Bearer ${connection.token}` }),
      },
      signal,
    },
    onAnswer,
  );
}

function tlsOf(connection: Connection): object {
  return {
    ca: connection.ca ?? [...getCACertificates('default'), ...getCACertificates('system')],
    rejectUnauthorized: !connection.insecure,
    ...(connection.serverName === undefined ? {} : { servername: connection.serverName }),
    ...connection.clientCertificate,
  };
}
