// Stands in front of a real hub and spoils the answers to reviews, or takes the hub away. Everything else must pass
// unchanged, watches included, or the gateway fails for another reason.
import { once } from 'node:events';
import { createServer, request as httpsRequest } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { createAuthority } from '../pretend/certificates.ts';
import type { Member } from '../controlplane/fixture.ts';

/** What becomes of a review; `late` is answered after ten seconds. */
export type ReviewFault = 'none' | 'late' | 'not-json' | 'another-kind' | 'no-status' | 500 | 429;

export interface FaultyHub {
  readonly url: string;
  readonly caPem: string;
  fault: ReviewFault;
  /** Reviews that came so far. */
  readonly reviews: number;
  /** Resets every connection and takes none, or takes them again. */
  setReachable(isReachable: boolean): void;
  close(): void;
}

const reviewPath = /\/(?:tokenreviews|subjectaccessreviews)$/;
const lateMs = 10_000;

export async function startFaultyHub(hub: Member): Promise<FaultyHub> {
  const authority = await createAuthority('faulty-hub-ca');
  const pair = await authority.issue({ commonName: 'hub', ipAddresses: ['127.0.0.1'], usage: 'server' });
  const sockets = new Set<Socket>();
  let isReachable = true;
  let reviews = 0;
  const server = createServer({ cert: pair.certPem, key: pair.keyPem }, (request, response) => {
    const isReview = reviewPath.test(request.url ?? '');
    if (isReview) reviews++;
    const fault = isReview ? faulty.fault : 'none';
    if (fault === 'none') passOn(hub, request, response);
    else if (fault === 'late') setTimeout(() => passOn(hub, request, response), lateMs).unref();
    else spoil(response, fault);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    if (!isReachable) socket.resetAndDestroy();
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const faulty: FaultyHub = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem: authority.certPem,
    fault: 'none',
    get reviews() {
      return reviews;
    },
    setReachable(next) {
      isReachable = next;
      if (!next) for (const socket of sockets) socket.resetAndDestroy();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return faulty;
}

function spoil(response: ServerResponse, fault: Exclude<ReviewFault, 'none' | 'late'>): void {
  const json = { 'content-type': 'application/json' };
  if (typeof fault === 'number') {
    const retry = fault === 429 ? { 'retry-after': '1' } : {};
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: fault, message: 'as the test says' };
    response.writeHead(fault, { ...json, ...retry }).end(JSON.stringify(status));
  } else if (fault === 'not-json')
    response.writeHead(201, json).end('{"status": {"authenticated": true, "allowed": tr');
  else if (fault === 'another-kind') {
    // Whoever only looks for `allowed` or `authenticated` somewhere takes this for a yes.
    response.writeHead(201, json).end('{"kind":"Pod","allowed":true,"authenticated":true,"user":{"username":"root"}}');
  } else response.writeHead(201, json).end('{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1"}');
}

function passOn(hub: Member, request: IncomingMessage, response: ServerResponse): void {
  const { hostname, port } = new URL(hub.url);
  const upstream = httpsRequest(
    {
      hostname,
      port,
      ca: hub.caPem,
      agent: false,
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: request.rawHeaders,
    },
    (answer) => {
      response.writeHead(answer.statusCode!, answer.rawHeaders);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    },
  );
  upstream.on('error', () => response.destroy());
  response.once('close', () => upstream.destroy());
  request.pipe(upstream);
}
