// Stands in front of a real hub and spoils the answers to reviews, or takes the hub away. Everything else must pass
// unchanged, watches included, or the gateway fails for another reason.
import { createServer } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { createAuthority } from '../pretend/certificates.ts';
import type { Member } from '../controlplane/fixture.ts';
import { passOn } from '../pretend/reverse-proxy.ts';
import { serve, type Handler } from '../pretend/server.ts';

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
  let isReachable = true;
  let reviews = 0;
  const handle: Handler = (request, response) => {
    const isReview = reviewPath.test(request.url ?? '');
    if (isReview) reviews++;
    const fault = isReview ? faulty.fault : 'none';
    if (fault === 'none') passOn(hub, request, response);
    else if (fault === 'late') setTimeout(() => passOn(hub, request, response), lateMs).unref();
    else spoil(response, fault);
  };
  const listening = createServer({ cert: pair.certPem, key: pair.keyPem }, handle);
  listening.on('connection', (socket: Socket) => void (isReachable || socket.resetAndDestroy()));
  const server = await serve(listening);
  const faulty: FaultyHub = {
    url: `https://127.0.0.1:${server.port}`,
    caPem: authority.certPem,
    fault: 'none',
    get reviews() {
      return reviews;
    },
    setReachable(next) {
      isReachable = next;
      if (!next) server.closeClientConnections('resetAndDestroy');
    },
    close: () => void server.close(),
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
