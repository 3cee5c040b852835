// A small HTTPS client for the gateway: one GET, one JSON object or one Failure that says what to do. A redirect is
// never followed, because the token would go along.
import { Agent, request } from 'node:https';
import { getCACertificates } from 'node:tls';
import { explainConnection, explainStatus } from './explain.ts';
import { Failure } from '../failure.ts';
import type { Connection } from './gateway-connection.ts';

/** Limits of one request. */
export interface RequestLimits {
  /** Milliseconds from dialling to the last byte. */
  readonly timeoutMs: number;
  /** Largest body read, in bytes. */
  readonly maxBytes: number;
}

/** Enough for 10,000 clusters on a slow line; a person waits no longer. */
export const defaultLimits: RequestLimits = { timeoutMs: 30_000, maxBytes: 64 * 1024 * 1024 };

/** A JSON object as it came; nothing in it is checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed JSON value is an object, not an array, not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * GET below the gateway's root.
 * @param path path with a leading slash
 * @param accept value of the Accept header
 * @throws Failure when the gateway cannot be reached, refuses, or answers something that is not a JSON object
 */
export async function getJson(
  connection: Connection,
  path: string,
  accept: string,
  limits: RequestLimits = defaultLimits,
): Promise<JsonObject> {
  let answer: Answer;
  try {
    answer = await send(connection, { method: 'GET', path, headers: { accept } }, limits);
  } catch (error) {
    throw error instanceof Failure ? error : explainConnection(error, connection, limits.timeoutMs);
  }
  if (answer.status !== 200) throw explainStatus(answer.status, answer.body, connection);
  let parsed: unknown;
  try {
    parsed = JSON.parse(answer.body);
  } catch {
    parsed = undefined;
  }
  if (!isJsonObject(parsed)) {
    throw new Failure(
      `${connection.root} answered something that is not a Kubernetes object`,
      "Check that the address is the gateway's --listen address and not another web server's.",
    );
  }
  return parsed;
}

/** One request below the root of a connection. */
export interface Question {
  readonly method: 'GET' | 'PATCH';
  /** With a leading slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A whole answer, whatever its status. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Sends one request. Rejects with the error of the connection, or Failure for an answer that is too long. */
export function send(
  connection: Connection,
  { method, path, headers, body }: Question,
  limits: RequestLimits = defaultLimits,
): Promise<Answer> {
  const url = new URL(connection.root + path);
  // One request, one connection: nothing to close afterwards and no agent shared with anybody.
  const agent = new Agent({ keepAlive: false, proxyEnv: connection.proxyEnv });
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        agent,
        method,
        headers: {
          ...headers,
          ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
          'user-agent': 'portcullis-cli',
          ...(connection.token === undefined ? {} : { authorization: `Bearer ${connection.token}` }),
        },
        ca: connection.ca ?? [...getCACertificates('default'), ...getCACertificates('system')],
        rejectUnauthorized: !connection.insecure,
        signal: AbortSignal.timeout(limits.timeoutMs),
        ...(connection.serverName === undefined ? {} : { servername: connection.serverName }),
        ...connection.clientCertificate,
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > limits.maxBytes) {
            // Rejected here: when all of it came in one piece, the end follows before any error would.
            reject(new Failure(`${connection.root} answered more than ${limits.maxBytes} bytes`, 'Check --server.'));
            call.destroy();
          }
        });
        response.once('error', reject);
        response.once('end', () => {
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') });
        });
      },
    );
    call.once('error', reject);
    call.end(body);
  });
}
