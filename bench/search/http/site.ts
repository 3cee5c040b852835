// Starts the servers of the benchmark over HTTP: stub members, a PostgreSQL server with Clusterpedia's schema,
// Clusterpedia's API server as bench/rivals/clusterpedia rebuilds it, and a `portcullis serve` for each store that is
// compared. An index in PostgreSQL is another database of the same PostgreSQL server. When another checkout is
// compared, its `portcullis serve` takes the place of Clusterpedia and its database.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

import { createAuthority } from '../../../test/pretend/certificates.ts';
import { buildGo } from '../../go-build.ts';
import { startProcess, type BenchProcess, type LiveProcesses } from '../../process.ts';
import { freePort } from '../../targets/target.ts';
import { perCluster } from '../generator.ts';
import { startPostgres, type Postgres } from '../postgres.ts';
import { askHostile, type HostileQuestion } from './hostile.ts';
import type { HttpQuestion } from './questions.ts';

export type StoreName = 'sqlite' | 'postgres';

/** The members, types and stores with which the servers are started. */
export interface SiteShape {
  /** Names of the members. */
  readonly members: readonly string[];
  /** Number of generated clusters whose objects each member serves. */
  readonly generatedPerMember: number;
  /** Types of the objects that members serve and Clusterpedia's table contains; also used for `--index-resources`. */
  readonly resources: readonly (keyof typeof perCluster)[];
  /** The stores of the index that are compared; each has a gateway of its own. */
  readonly stores: readonly StoreName[];
  /** Another checkout of this repository, whose gateway with SQLite takes the place of Clusterpedia's API server. */
  readonly against?: string;
}

/** One of the compared servers: a gateway with one of the stores, or the server that gateways are compared with. */
export interface Target {
  readonly name: string;
  readonly port: number;
  /** Ids of the server's processes. The CPU time of these and of their descendants is measured. */
  readonly pids: readonly number[];
  readonly pathOf: (question: HttpQuestion) => string;
}

/** Paths of the files with which each gateway is started. */
interface GatewayFiles {
  readonly tls: readonly [string, string];
  readonly users: string;
  readonly kubeconfig: string;
}

/** The settings that are the same for all runs of the load generator. */
export interface LoadClient {
  readonly binary: string;
  readonly caFile: string;
  readonly token: string;
}

export interface Site {
  readonly gateways: ReadonlyMap<StoreName, Target>;
  readonly rival: Target;
  readonly load: LoadClient;
  /** Sends one request on its own connection; resolves with the body, or with the status when it is not 200. */
  readonly askOnce: (port: number, path: string) => Promise<Buffer | number>;
  /** Sends an expensive request; resolves with the status of the answer. */
  readonly askHostile: (port: number, question: HostileQuestion) => Promise<number>;
  readonly close: () => Promise<void>;
}

const settleMsOfCluster = 15_000;
const settleMs = 300_000;
const root = join(import.meta.dirname, '..', '..', '..');
const apiGroups: Readonly<Record<string, string>> = { deployments: 'apps', replicasets: 'apps' };

/** Starts all servers; resolves when all objects are stored. Files are written into `directory`. */
export async function startSite(directory: string, shape: SiteShape, print: (line: string) => void): Promise<Site> {
  const parts = new SiteParts(directory, shape, print);
  try {
    return await parts.start();
  } catch (error) {
    await parts.close();
    throw error;
  }
}

class SiteParts {
  readonly #directory: string;
  readonly #shape: SiteShape;
  readonly #print: (line: string) => void;
  readonly #live: LiveProcesses = new Set();
  readonly #token = randomBytes(16).toString('hex');
  readonly #stopAtExit = (): void => this.#live.forEach((child) => child.killNow());
  #ca = '';
  #postgres: Postgres | undefined;

  constructor(directory: string, shape: SiteShape, print: (line: string) => void) {
    this.#directory = directory;
    this.#shape = shape;
    this.#print = print;
    process.once('exit', this.#stopAtExit);
  }

  async start(): Promise<Site> {
    const authority = await createAuthority('search bench');
    this.#ca = authority.certPem;
    const names = { commonName: 'target of the search bench', usage: 'server', dnsNames: ['localhost'] } as const;
    const pair = await authority.issue({ ...names, ipAddresses: ['127.0.0.1'] });
    const tls = [this.#file('http.crt', pair.certPem), this.#file('http.key', pair.keyPem)] as const;
    const users = this.#file('http-users.csv', `${this.#token},reader,,system:masters\n`);
    const caFile = this.#file('http-ca.crt', this.#ca);
    const load = { binary: await buildGo('load', this.#print), caFile, token: this.#token };
    const kubeconfig = this.#file('members.json', await this.#startMembers(tls));
    const files = { tls, users, kubeconfig };
    const { against } = this.#shape;
    const rival = against === undefined ? await this.#startRival(tls, users) : await this.#startOther(against, files);
    const gateways = new Map<StoreName, Target>();
    for (const store of this.#shape.stores) gateways.set(store, await this.#startGateway(store, files));
    return {
      gateways,
      rival,
      load,
      askOnce: (port, path) => this.#withAgent((agent) => ask(agent, this.#token, port, path)),
      askHostile: (port, question) => this.#withAgent((agent) => askHostile(agent, this.#token, port, question)),
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    process.off('exit', this.#stopAtExit);
    await Promise.all([...this.#live].map((child) => child.stop()));
    await this.#postgres?.stop();
  }

  /** Starts the stub members. @returns a kubeconfig with a context for each member */
  async #startMembers(tls: readonly string[]): Promise<string> {
    const { members, generatedPerMember, resources } = this.#shape;
    const each = members.map((name, i) => `${name}:${i * generatedPerMember}:${generatedPerMember}`);
    const args = [join(import.meta.dirname, 'stub-members.ts'), ...tls, resources.join(','), ...each];
    const stub = await startProcess({ name: 'members', command: process.execPath, args, firstLine: true }, this.#live);
    const ports = JSON.parse(stub.firstLine) as readonly number[];
    const authority = { 'certificate-authority-data': Buffer.from(this.#ca).toString('base64') };
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: members.map((name, i) => ({
        name,
        cluster: { ...authority, server: `https://127.0.0.1:${ports[i]}` },
      })),
      users: [{ name: 'gateway', user: { token: 'gateway' } }],
      contexts: members.map((name) => ({ name, context: { cluster: name, user: 'gateway' } })),
    });
  }

  async #startRivalStore(): Promise<Postgres> {
    const { members, generatedPerMember, resources } = this.#shape;
    const postgres = await startPostgres(join(this.#directory, 'postgres-http'));
    this.#postgres = postgres;
    const wanted: ReadonlySet<string> = new Set(resources);
    await postgres.load(
      {
        clusters: members.length * generatedPerMember,
        nameOf: (index) => members[Math.floor(index / generatedPerMember)]!,
        isWanted: ({ resource }) => wanted.has(resource),
      },
      this.#print,
    );
    return postgres;
  }

  async #startRival([cert, key]: readonly [string, string], users: string): Promise<Target> {
    const { url, pid } = await this.#startRivalStore();
    const command = await buildGo('rivals/clusterpedia', this.#print);
    const clusters = this.#shape.members.join(',');
    const args = ['--database', url, '--cert', cert, '--key', key, '--tokens', users, '--clusters', clusters];
    const rival = await startProcess({ name: 'rival', command, args, firstLine: true }, this.#live);
    const pathOf = ({ rivalPath }: HttpQuestion): string => rivalPath;
    return { name: 'rival', port: Number(rival.firstLine), pids: [rival.pid, pid], pathOf };
  }

  async #startOther(checkout: string, files: GatewayFiles): Promise<Target> {
    return { ...(await this.#startGateway('sqlite', files, checkout)), name: 'other' };
  }

  async #startGateway(
    store: StoreName,
    { tls: [cert, key], users, kubeconfig }: GatewayFiles,
    checkout = root,
  ): Promise<Target> {
    const dataDir = join(this.#directory, `gateway-${checkout === root ? store : 'other'}`);
    const port = await freePort();
    const types = this.#shape.resources.map((name) =>
      apiGroups[name] === undefined ? name : `${name}.${apiGroups[name]}`,
    );
    const args = [
      ...[
        join(checkout, 'bin', 'portcullis.mjs'),
        'serve',
        '--listen',
        `127.0.0.1:${port}`,
        '--ops-listen',
        '127.0.0.1:0',
      ],
      ...['--data-dir', dataDir, '--kubeconfig', kubeconfig],
      ...['--token-auth-file', users, '--tls-cert-file', cert, '--tls-private-key-file', key],
      ...['--index-resources', types.join(',')],
      ...(store === 'postgres' ? ['--index-store', this.#postgres!.createDatabase('portcullis')] : []),
    ];
    const gateway = await startProcess({ name: `portcullis-${store}`, command: process.execPath, args }, this.#live);
    const startedMs = performance.now();
    await this.#untilIndexed(port, gateway);
    const seconds = (performance.now() - startedMs) / 1000;
    this.#print(`the gateway with ${store} has all objects after ${seconds.toFixed(0)} s`);
    // VACUUM ANALYZE tells the query planner the sizes of all tables. Clusterpedia's table gets it too.
    if (store === 'postgres') await vacuum(this.#postgres!);
    return { name: store, port, pids: [gateway.pid], pathOf: ({ path }) => path };
  }

  async #untilIndexed(port: number, gateway: BenchProcess): Promise<void> {
    const { members, generatedPerMember, resources } = this.#shape;
    const clusters = members.length * generatedPerMember;
    const left = new Set(resources);
    let last: unknown;
    for (const untilMs = Date.now() + settleMs + clusters * settleMsOfCluster; Date.now() < untilMs;) {
      if (!gateway.running()) break;
      for (const name of left) {
        const path = `${countsPath}?resource=${name}.v1.${apiGroups[name] ?? ''}`;
        last = await this.#withAgent((agent) => ask(agent, this.#token, port, path)).catch(String);
        const wanted = new RegExp(`"count":${perCluster[name] * clusters}\\b`);
        if (Buffer.isBuffer(last) && wanted.test(last.toString('utf8'))) left.delete(name);
      }
      if (left.size === 0) return;
      await delay(500);
    }
    throw new Error(`the members are not indexed: ${String(last)}\n${gateway.words()}`);
  }

  async #withAgent<T>(use: (agent: Agent) => Promise<T>): Promise<T> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: this.#ca });
    try {
      return await use(agent);
    } finally {
      agent.destroy();
    }
  }

  #file(name: string, content: string): string {
    const path = join(this.#directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }
}

const countsPath = '/apis/search.portcullis.io/v1alpha1/indexes/default/counts';

async function vacuum({ directory }: Postgres): Promise<void> {
  const client = new Client({ host: directory, user: 'bench', database: 'portcullis' });
  await client.connect();
  await client.query('VACUUM ANALYZE');
  await client.end();
}

function ask(agent: Agent, token: string, port: number, path: string): Promise<Buffer | number> {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  return new Promise((resolve, reject) => {
    const request = httpsRequest({ host: '127.0.0.1', port, path, agent, headers });
    request.once('error', reject);
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => resolve(response.statusCode === 200 ? Buffer.concat(chunks) : response.statusCode!));
    });
    request.end();
  });
}
