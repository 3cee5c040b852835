// A small https server that plays the hub's API server in tests. Each test gives the handler that answers requests, and
// can cut all connections to simulate faults.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { fixedCredential } from '../../model/fixed-credential.ts';
import { GatewayError } from '../../model/errors.ts';
import type { HubAccess, HubConnection } from './connection.ts';
import { newServer } from '../../test/pretend/server.ts';

/**
 * The server certificate of the test hub, its key and its CA as PEM texts. The certificate must be valid for 127.0.0.1.
 */
export interface TestHubCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A running test hub. */
export interface TestHub {
  readonly port: number;
  readonly url: string;
  /** Connects to this server with the bearer token `hub-token`. */
  readonly connection: HubConnection;
  /** Method and path of each request so far, such as `GET /livez`, in order of arrival. */
  readonly requests: readonly string[];
  /** The connections that are open now. */
  readonly sockets: ReadonlySet<Socket>;
  /** Destroys every open connection. */
  cut(): void;
}

/** Starts the test hub, which stops when the test ends. */
export async function startTestHub(
  t: TestContext,
  certificate: TestHubCertificate,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<TestHub> {
  const { cert, key } = certificate;
  const server = await newServer((request, response) => handle(request.resume(), response), { cert, key });
  t.after(server.close);
  return {
    port: server.port,
    url: server.url,
    connection: connectionTo(server.port, certificate.ca),
    requests: server.requests,
    sockets: server.connections,
    cut: () => server.closeClientConnections(),
  };
}

/** A connection to 127.0.0.1. @param parts fields that replace those of the HubAccess that the connection returns */
export function connectionTo(port: number, ca: string | undefined, parts: Partial<HubAccess> = {}): HubConnection {
  const credential = fixedCredential('token', {
    authorization: 'Bearer hub-token',
    clientCertificate: undefined,
    expiresAtMs: undefined,
  });
  const access: HubAccess = {
    endpoint: { scheme: 'https', host: '127.0.0.1', port, basePath: '' },
    tls: { ca, serverName: undefined, insecure: false },
    credential,
    transportKey: 'one',
    ...parts,
  };
  return { origin: 'test', current: () => access, problem: () => undefined, reload: async () => {}, close() {} };
}

/** Waits until `claim` returns true; throws after `limitMs`. */
export async function until(claim: () => boolean, limitMs = 15_000): Promise<void> {
  for (const end = performance.now() + limitMs; !claim();) {
    if (performance.now() > end) throw new Error(`it did not come to this: ${claim.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * The GatewayError that the promise rejects with.
 * @throws AssertionError when the promise resolves, or rejects with another kind of error
 */
export async function faultOf(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(
    () => assert.fail('it did not throw'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof GatewayError, String(error));
  return error;
}
