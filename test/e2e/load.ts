// A steady load of small requests over both protocols, each with a number by which the member's audit log can be
// searched. Easy to get wrong: requests start by the clock whether or not earlier ones were answered, or a stall would
// hide itself.
import { Agent, request as httpsRequest } from 'node:https';

import { http2Client } from '../clients/stream-client.ts';
import type { StreamClient, StreamServer } from '../clients/stream-client.ts';

/** One request and what became of it. */
export interface LoadRecord {
  readonly number: number;
  readonly cluster: string;
  /** `performance.now()` */
  readonly startedMs: number;
  /** Until the whole answer was here. */
  readonly tookMs: number;
  /** Status of a complete answer, or what went wrong. */
  readonly outcome: number | string;
}

/** A load that runs until it is stopped. */
export interface Load {
  /** Starts no more, waits for what is under way, and gives everything in order of start. */
  stop(): Promise<readonly LoadRecord[]>;
}

/**
 * Asks the clusters in turn for a namespace, HTTP/1.1 and HTTP/2 in turn.
 * @param pathTo path of a cluster's proxy on that server; default the direct listener's short form
 * @param tag query parameter that holds the request's number, so that the audit log tells two loads apart
 */
export async function startLoad(
  server: StreamServer,
  clusters: readonly string[],
  requestsPerSecond: number,
  { pathTo = (cluster: string): string => `/clusters/${cluster}/proxy`, tag = 'request' } = {},
): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64, ca: server.caPem });
  const http2 = await http2Client(server);
  const running: Promise<LoadRecord>[] = [];
  const startedMs = performance.now();
  const ask = async (number: number): Promise<LoadRecord> => {
    const round = Math.floor(number / clusters.length);
    const cluster = clusters[number % clusters.length]!;
    const path = `${pathTo(cluster)}/api/v1/namespaces/default?${tag}=${number}`;
    const startedMs = performance.now();
    const get = round % 2 === 0 ? askHttp1(server, agent, path) : askHttp2(http2, path);
    const outcome = await get.catch((error: unknown) => String(error));
    return { number, cluster, startedMs, tookMs: performance.now() - startedMs, outcome };
  };
  const timer = setInterval(() => {
    const due = ((performance.now() - startedMs) / 1000) * requestsPerSecond;
    while (running.length < due) running.push(ask(running.length));
  }, 5);
  return {
    async stop() {
      clearInterval(timer);
      const records = await Promise.all(running);
      agent.destroy();
      http2.close();
      return records;
    },
  };
}

function askHttp1(server: StreamServer, agent: Agent, path: string): Promise<number | string> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(server.url + path, { agent, headers: server.headers }, (response) => {
      response.on('error', reject);
      response.on('end', () => resolve(response.statusCode!));
      response.resume();
    });
    request.on('error', reject);
    request.end();
  });
}

async function askHttp2(client: StreamClient, path: string): Promise<number | string> {
  const answer = await client.get(path);
  const end = await answer.ended;
  return end === 'complete' ? answer.status : end;
}
