// The operations listener. On a loopback address it serves metrics and health over plain HTTP. On any other address it
// serves only metrics, over TLS, to callers who may read them. No request to this listener reaches a cluster, but
// metrics contain the names of all clusters, so it listens beyond loopback only when a flag says so.
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import express from 'express';
import type { Express, NextFunction, Request, Response } from 'express';
import type { Server } from 'node:net';
import type { Registry } from 'prom-client';
import { GatewayError } from '../../model/errors.ts';
import { healthResponse } from '../../api/health.ts';
import type { HealthCheck } from '../../api/health.ts';
import { formatHostPort, isLoopback } from '../../lib/text/host-port.ts';
import type { HostPort } from '../../lib/text/host-port.ts';
import { listenAt } from '../listener/listen.ts';
import type { AdmitScrape } from '../operations/metrics-protection.ts';

/** The running listener for metrics and health checks. */
export interface Operations {
  readonly url: string;
  /**
   * Uses this certificate for new connections. On a loopback address this does nothing, because the listener speaks
   * plain HTTP there.
   */
  setTls(pair: OperationsTls): void;
  close(): void;
}

/** Certificate and private key as PEM. */
export interface OperationsTls {
  readonly cert: string;
  readonly key: string;
}

/** The content of `/metrics`: the metrics of one registry, or the sum of several processes. */
export type MetricsPage = Pick<Registry, 'metrics' | 'contentType'>;

/** Certificate and access check for serving metrics on an address that others can reach. */
export interface OperationsProtection {
  readonly tls: OperationsTls;
  readonly admit: AdmitScrape;
}

/**
 * Opens the listener for metrics and health checks.
 * @param protection used when `at` is not a loopback address: then only `/metrics` is served, over TLS, to callers that
 * `admit` allows. Undefined when there is no hub: then everybody who can reach the address may read everything
 * @throws Error (rejects) with the system's error code when the address cannot be used
 */
export async function startOperations(
  at: HostPort,
  registry: MetricsPage,
  checks: readonly HealthCheck[],
  protection?: OperationsProtection,
  openServer: (server: Server, at: HostPort) => Promise<number> = listenAt,
): Promise<Operations> {
  const guard = isLoopback(at.host) ? undefined : protection;
  const app = makeApp(registry, checks, guard?.admit);
  const handle = (request: IncomingMessage, response: ServerResponse): void => void app(request, response);
  const settings = { requestTimeout: 30_000, headersTimeout: 10_000 };
  const tlsServer =
    guard === undefined
      ? undefined
      : createTlsServer({ ...settings, ...guard.tls, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] }, handle);
  const server = tlsServer ?? createServer(settings, handle);
  const port = await openServer(server, at);
  return {
    url: `${tlsServer === undefined ? 'http' : 'https'}://${formatHostPort({ host: at.host, port })}`,
    setTls: ({ cert, key }) => tlsServer?.setSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function makeApp(registry: MetricsPage, checks: readonly HealthCheck[], admit: AdmitScrape | undefined): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const scrape = async (request: Request): Promise<string> => {
    await admit?.(authorizationOf(request));
    return await registry.metrics();
  };
  app.get('/metrics', (request: Request, response: Response, next: NextFunction) => {
    scrape(request).then((text) => response.type(registry.contentType).send(text), next);
  });
  if (admit === undefined) addHealth(app, checks);
  app.use((_request: Request, response: Response) => {
    const here = admit === undefined ? 'here are /metrics, /livez, /readyz and /healthz' : 'here is /metrics';
    response.status(404).type('text/plain').send(`${here}\n`);
  });
  // Express recognises an error handler by its four parameters, so `_next` must stay.
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const known = error instanceof GatewayError;
    if (known && error.status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
    response
      .status(known ? error.status : 500)
      .type('text/plain')
      .send(`${known ? error.message : 'the metrics could not be collected'}\n`);
  });
  return app;
}

function addHealth(app: Express, checks: readonly HealthCheck[]): void {
  for (const check of ['livez', 'readyz', 'healthz'] as const) {
    app.get(`/${check}`, (request: Request, response: Response) => {
      const query = request.url.includes('?') ? request.url.slice(request.url.indexOf('?')) : '';
      const answer = healthResponse({ kind: 'health', check, only: undefined }, query, checks, '');
      response.status(answer.status).type('text/plain').send(answer.body);
    });
  }
}

/** The values of all Authorization headers of a request. Node's `request.headers` has only the first of several. */
function authorizationOf(request: Request): readonly string[] {
  const raw = request.rawHeaders;
  return raw.filter((_value, index) => index % 2 === 1 && raw[index - 1]!.toLowerCase() === 'authorization');
}
