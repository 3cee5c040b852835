// For tests: a small imitation of a gateway to run commands against, with TLS by its own CA, tokens, client
// certificates and one list of clusters.
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import type { TestAuthority } from '../test/pretend/certificates.ts';
import type { Terminal } from './terminal/terminal.ts';
import { newServer, sendJson, sendStatus } from '../test/pretend/server.ts';
import { tempDir } from '../test/pretend/temp-dir.ts';

/** What the stub gateway answers. Tests may change the fields between requests. */
export interface StubAnswers {
  token: string;
  /** Common name of the client certificates that the stub accepts. */
  clientName: string;
  clusters: readonly unknown[];
  table: unknown;
  /** When set, this function answers every request, and the other fields have no effect. */
  override: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
}

/** A running stub gateway. */
export interface StubGateway {
  readonly url: string;
  readonly port: number;
  readonly answers: StubAnswers;
  /** All requests so far, each with method and path, Accept, Host and token. */
  readonly requests: {
    readonly line: string;
    readonly accept: string;
    readonly host: string;
    readonly token: string;
  }[];
  close(): Promise<void>;
}

/**
 * Starts a stub gateway on a free port of the loopback address.
 * @param basePath path of the gateway's root; '' for the root of the server
 */
export async function startStub(authority: TestAuthority, basePath = ''): Promise<StubGateway> {
  const pair = await authority.issue(['ip:127.0.0.1', 'gateway.test']);
  const answers: StubAnswers = {
    token: 'good-token',
    clientName: 'ada',
    clusters: [cluster('m1'), cluster('m2')],
    table: { kind: 'Table', columnDefinitions: [], rows: [] },
    override: undefined,
  };
  const requests: StubGateway['requests'] = [];
  const server = await newServer(
    (request, response) => {
      const { accept = '', host = '', authorization = '' } = request.headers;
      requests.push({
        line: `${request.method} ${request.url}`,
        accept,
        host,
        token: authorization.replace('Bearer ', ''),
      });
      if (answers.override !== undefined) return answers.override(request, response);
      const socket = request.socket as TLSSocket;
      const name: unknown = socket.authorized ? socket.getPeerCertificate().subject['CN'] : undefined;
      if (authorization !== `Bearer ${answers.token}` && name !== answers.clientName) {
        return sendStatus(response, 401, 'Unauthorized', 'Unauthorized');
      }
      if (request.url !== `${basePath}/apis/gateway.portcullis.io/v1alpha1/clusters`) {
        return sendStatus(response, 404, 'NotFound', 'the server could not find the requested resource');
      }
      return sendJson(
        response,
        200,
        accept.startsWith('application/json;as=Table')
          ? answers.table
          : {
              apiVersion: 'gateway.portcullis.io/v1alpha1',
              kind: 'ClusterList',
              metadata: { resourceVersion: '7' },
              items: answers.clusters,
            },
      );
    },
    { ...pair, ca: authority.ca, requestCert: true, rejectUnauthorized: false },
  );
  return { ...server, url: server.url + basePath, answers, requests };
}

/** A cluster object as the gateway lists it. */
export function cluster(name: unknown, conditions: readonly unknown[] = []): unknown {
  return { metadata: { name }, status: { conditions } };
}

/** A terminal that records what was printed, for tests. */
export function recordingTerminal(
  parts: { readonly env?: Terminal['env']; readonly homeDir?: string } = {},
): Terminal & {
  readonly printed: () => string;
  readonly noted: () => string;
} {
  let printed = '';
  let noted = '';
  return {
    env: parts.env ?? {},
    homeDir: parts.homeDir ?? '/nonexistent',
    nowMs: () => Date.parse('2026-06-01T12:00:00Z'),
    print: (text) => void (printed += text),
    note: (text) => void (noted += text),
    printed: () => printed,
    noted: () => noted,
  };
}

/** A temporary folder for the files of one test. */
export interface TestFolder {
  readonly path: string;
  write(name: string, text: string): string;
  read(name: string): string;
}

/** Makes a {@link TestFolder}, which is removed when the process ends. */
export function makeFolder(): TestFolder {
  const path = tempDir('cli');
  return {
    path,
    write: (name, text) => {
      writeFileSync(join(path, name), text);
      return join(path, name);
    },
    read: (name) => readFileSync(join(path, name), 'utf8'),
  };
}
