// The operations listener: plain HTTP/1.1 on loopback by default, with metrics and health for probes that cannot do TLS. Easy to get wrong:
// nothing here may reach a cluster, and whoever may read it learns the names of all clusters, so it never binds elsewhere by itself.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Request, Response } from 'express';
import type { Registry } from 'prom-client';
import { GatewayError } from '../cache/errors.ts';
import { healthResponse } from './health.ts';
import type { HealthCheck } from './health.ts';
import { formatHostPort } from './host-port.ts';
import type { HostPort } from './host-port.ts';

/** A running operations listener. */
export interface Operations {
  readonly url: string;
  close(): void;
}

/** @throws Error with the system's code when the address cannot be had */
export async function startOperations(
  at: HostPort,
  registry: Registry,
  checks: readonly HealthCheck[],
): Promise<Operations> {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/metrics', (_request: Request, response: Response, next) => {
    registry.metrics().then((text) => response.type(registry.contentType).send(text), next);
  });
  for (const check of ['livez', 'readyz', 'healthz'] as const) {
    app.get(`/${check}`, (request: Request, response: Response) => {
      const query = request.url.includes('?') ? request.url.slice(request.url.indexOf('?')) : '';
      const answer = healthResponse({ kind: 'health', check, only: undefined }, query, checks, '');
      response.status(answer.status).type('text/plain').send(answer.body);
    });
  }
  app.use((_request: Request, response: Response) => {
    const { message } = new GatewayError('NOT_FOUND', 'here are /metrics, /livez, /readyz and /healthz');
    response.status(404).type('text/plain').send(`${message}\n`);
  });
  const server = createServer({ requestTimeout: 30_000 }, app);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${formatHostPort({ host: at.host, port })}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
