// The type of a measured program ("target"): the API server itself, or a proxy in front of it, to which the load
// generator sends GETs. A program counts as ready when a request through it succeeds, not when its port is open.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import type { HeaderPairs, Protocol } from '../load.ts';
import { configMapPath } from '../member.ts';
import { startProcess, type BenchProcess, type ProcessOptions } from '../process.ts';
import { clusterName } from '../names.ts';
import { userHeaders, type Site } from '../site.ts';

/** Names of the measured programs. They appear in options, tables and JSON, so they must not change. */
export type TargetName =
  | 'direct'
  | 'portcullis'
  | 'other'
  | 'express'
  | 'go'
  | 'go-tuned'
  | 'nginx'
  | 'haproxy'
  | 'kubectl-proxy';

/** A program that can be measured. */
export interface Target {
  readonly name: TargetName;
  /** Name for people: the program, and what is special about its configuration here. */
  readonly title: string;
  /** HTTP versions that the program supports towards its clients. */
  readonly protocols: readonly Protocol[];
  /** Version of the installed program; undefined when the program is not installed. */
  readonly version: () => Promise<string | undefined>;
  /**
   * Starts the program; resolves when it is ready.
   * @param watches number of watches to one cluster; given when there will be more than the program allows by default
   */
  readonly start: (site: Site, progress: (line: string) => void, watches?: number) => Promise<RunningTarget>;
}

/** A measured program that is running. */
export interface RunningTarget {
  readonly address: string;
  /** The CA certificate that the load generator trusts. */
  readonly caFile: string;
  /** Path prefix of the cluster, which paths of the API server follow, such as `/api/v1/pods`. */
  readonly prefix: string;
  readonly headers: HeaderPairs;
  /**
   * Process id of the program; its child processes are measured too. Undefined for `direct`, which has no process of
   * its own.
   */
  readonly pid: number | undefined;
  /** True when the program speaks HTTP/1.1 without TLS and without authentication. */
  readonly plain?: boolean;
  readonly stop: () => Promise<void>;
}

/** Path prefix of the cluster in every gateway. */
export const proxyPrefix = `/clusters/${clusterName}/proxy`;
/**
 * Milliseconds to wait for the first answer of a program before its start counts as failed. A gateway with 10,000
 * clusters starts slowly on a busy machine.
 */
const readyTimeoutMs = 120_000;
const pollMs = 50;

/** Returns a TCP port on 127.0.0.1 that no process listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Starts a gateway process; resolves when the ConfigMap can be read through it.
 * @throws Error (rejects) with the last output of the process when it ends or does not answer in time
 */
export async function startGateway(
  site: Site,
  port: number,
  options: ProcessOptions,
  path = `${proxyPrefix}${configMapPath}`,
  plain = false,
): Promise<RunningTarget> {
  const child = await startProcess(options, site.live);
  // A program without TLS here has no users either, and would pass the client's token on to the API server. So the
  // token is left out.
  const headers = userHeaders(site).filter(([name]) => !plain || name !== 'Authorization');
  const ready = { address: `127.0.0.1:${port}`, caFile: site.caFile, plain, headers, path };
  try {
    await untilAnswered(child, options.name, ready);
  } catch (error) {
    await child.stop();
    throw error;
  }
  return {
    address: `127.0.0.1:${port}`,
    caFile: site.caFile,
    prefix: proxyPrefix,
    headers,
    pid: child.pid,
    plain,
    stop: child.stop,
  };
}

async function untilAnswered(
  child: BenchProcess,
  name: string,
  ready: Pick<RunningTarget, 'address' | 'caFile' | 'plain' | 'headers'> & { readonly path: string },
): Promise<void> {
  const giveUpAtMs = Date.now() + readyTimeoutMs;
  let last = 'no answer';
  while (Date.now() < giveUpAtMs) {
    if (!child.running()) throw new Error(`${name} ended: ${child.words().trim()}`);
    try {
      const answer = await askOnce(ready, 'GET', ready.path, ready.headers);
      if (answer.status === 200) return;
      last = `${answer.status} ${answer.body.slice(0, 300)}`;
    } catch (error) {
      last = String(error);
    }
    await delay(pollMs);
  }
  throw new Error(`${name} is not ready: ${last}\n${child.words().trim()}`);
}

/** A complete answer to one request. */
export interface OneAnswer {
  readonly status: number;
  readonly body: string;
  readonly bytes: Buffer;
  readonly contentEncoding: string | undefined;
}

/** Sends one HTTP/1.1 request on a connection of its own; resolves with the answer. */
export function askOnce(
  to: { readonly address: string; readonly caFile: string; readonly plain?: boolean | undefined },
  method: string,
  path: string,
  headers: HeaderPairs,
  body?: string,
): Promise<OneAnswer> {
  const [host = '', port] = to.address.split(':');
  return new Promise((resolve, reject) => {
    const ask = to.plain === true ? httpRequest : httpsRequest;
    const request = ask({
      host,
      port: Number(port),
      method,
      path,
      ...(to.plain === true ? {} : { ca: readFileSync(to.caFile) }),
      agent: false,
      headers: [
        'Host',
        to.address,
        ...headers.flat(),
        ...(body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))]),
      ],
      timeout: 10_000,
    });
    request.once('error', reject);
    request.once('timeout', () => request.destroy(new Error('no answer within 10 s')));
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString('utf8'),
          bytes: Buffer.concat(chunks),
          contentEncoding: response.headers['content-encoding'],
        }),
      );
    });
    request.end(body);
  });
}
