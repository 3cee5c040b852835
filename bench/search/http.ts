// Compares the index over HTTP: `portcullis serve` in front of two clusters with 20,000 pods, and Clusterpedia's API
// server as bench/rivals/clusterpedia rebuilds it. The load generator asks them in turn over the same number of
// connections. Both must give the same number of rows, which is checked before the time is measured.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';

import { createAuthority } from '../../test/controlplane/certificates.ts';
import { cpuSecondsBetween, readCpu, type CpuReading } from '../figures/accounting.ts';
import { buildGo } from '../go-build.ts';
import { openLoad } from '../load.ts';
import { startProcess, type BenchProcess, type LiveProcesses } from '../process.ts';
import { median } from '../figures/statistics.ts';
import { freePort } from '../targets/target.ts';
import { clusterObjects, type GeneratedObject } from './generator.ts';
import { askHostile, hostileQuestions, mostHostileCpuMs, type HostileQuestion } from './http-hostile.ts';
import { httpQuestions, type HttpQuestion } from './http-questions.ts';
import { startPostgres, type Postgres } from './postgres.ts';

const members = ['east', 'west'] as const;
/** Each cluster gets the pods of so many generated clusters, 2,500 each: together 20,000. */
const generatedPerMember = 4;
const connections = 4;
const turnSeconds = 0.8;
const warmUpSeconds = 0.2;
/**
 * Before the first measurement of each request, both servers answer it for so long, since V8 compiles some code only
 * after hundreds of answers.
 */
const firstWarmUpSeconds = 4;
const settleTimeoutMs = 300_000;

const root = join(import.meta.dirname, '..', '..');

/** One of the two servers that are compared. */
interface Target {
  readonly name: string;
  readonly port: number;
  readonly pids: readonly number[];
  readonly pathOf: (question: HttpQuestion) => string;
}

/** Sends one request on its own connection; resolves with the body, or with the status when it is not 200. */
type AskOnce = (port: number, path: string) => Promise<Buffer | number>;

interface Site {
  readonly ours: Target;
  readonly rival: Target;
  readonly askOnce: AskOnce;
  readonly load: LoadClient;
  /** Sends an expensive request; resolves with the status of the answer. */
  readonly askHostile: (question: HostileQuestion) => Promise<number>;
  readonly close: () => Promise<void>;
}

/** The settings that all runs of the load generator share. */
interface LoadClient {
  readonly binary: string;
  readonly caFile: string;
  readonly token: string;
}

/**
 * Compares the two servers over HTTP.
 * @returns a line of text for each request for which a limit does not hold
 */
export async function benchHttp(
  directory: string,
  rounds: number,
  print: (line: string) => void,
): Promise<readonly string[]> {
  const site = await startSite(directory, print);
  try {
    const failures: string[] = [];
    for (const question of httpQuestions(samplePod())) {
      const line = await compare(site, question, rounds);
      print(line.text);
      if (!line.holds) failures.push(line.text);
    }
    for (const question of hostileQuestions) {
      const line = await spendOn(site, question);
      print(line.text);
      if (!line.holds) failures.push(line.text);
    }
    return failures;
  } finally {
    await site.close();
  }
}

function samplePod(): GeneratedObject {
  return [...clusterObjects(0)].find(({ kind }) => kind === 'Pod')!;
}

async function startSite(directory: string, print: (line: string) => void): Promise<Site> {
  const live: LiveProcesses = new Set();
  const file = (name: string, content: string): string => {
    const path = join(directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const authority = await createAuthority('search bench');
  const names = { commonName: 'target of the search bench', usage: 'server', dnsNames: ['localhost'] } as const;
  const pair = await authority.issue({ ...names, ipAddresses: ['127.0.0.1'] });
  const [cert, key] = [file('http.crt', pair.certPem), file('http.key', pair.keyPem)];
  const token = randomBytes(16).toString('hex');
  const rivalBinary = await buildGo('rivals/clusterpedia', print);
  const load = { binary: await buildGo('load', print), caFile: file('http-ca.crt', authority.certPem), token };
  const script = (name: string, ...args: readonly string[]): Promise<BenchProcess> => {
    const command = [join(import.meta.dirname, `${name}.ts`), ...args, cert, key];
    return startProcess({ name, command: process.execPath, args: command, firstLine: true }, live);
  };
  let postgres: Postgres | undefined;
  const stopAtExit = (): void => live.forEach((child) => child.killNow());
  process.once('exit', stopAtExit);
  const newAgent = (): Agent => new Agent({ keepAlive: true, maxSockets: connections, ca: authority.certPem });
  const close = async (): Promise<void> => {
    process.off('exit', stopAtExit);
    await Promise.all([...live].map((child) => child.stop()));
    await postgres?.stop();
  };
  try {
    const started = await Promise.all(
      members.map((name, i) => script('stub-member', name, String(i * generatedPerMember), String(generatedPerMember))),
    );
    const cluster = { 'certificate-authority-data': Buffer.from(authority.certPem).toString('base64') };
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: members.map((name, i) => ({
        name,
        cluster: { ...cluster, server: `https://127.0.0.1:${started[i]!.firstLine}` },
      })),
      users: [{ name: 'gateway', user: { token: 'gateway' } }],
      contexts: members.map((name) => ({ name, context: { cluster: name, user: 'gateway' } })),
    };
    postgres = await startPostgres(join(directory, 'postgres-http'));
    const nameOf = (index: number): string => members[Math.floor(index / generatedPerMember)]!;
    const clusters = members.length * generatedPerMember;
    await postgres.load({ clusters, nameOf, isWanted: ({ kind }) => kind === 'Pod' }, print);
    const users = file('http-users.csv', `${token},reader,,system:masters\n`);
    const rival = await startProcess(
      {
        name: 'rival',
        command: rivalBinary,
        args: [
          ...['--socket', postgres.directory, '--cert', cert, '--key', key],
          ...['--tokens', users, '--clusters', members.join(',')],
        ],
        firstLine: true,
      },
      live,
    );
    const port = await freePort();
    const args = [
      ...[join(root, 'bin', 'portcullis.mjs'), 'serve', '--listen', `127.0.0.1:${port}`, '--ops-listen', '127.0.0.1:0'],
      ...['--data-dir', join(directory, 'gateway'), '--kubeconfig', file('members.json', JSON.stringify(kubeconfig))],
      ...['--token-auth-file', users, '--tls-cert-file', cert, '--tls-private-key-file', key],
      ...['--index-resources', 'pods'],
    ];
    const gateway = await startProcess({ name: 'portcullis', command: process.execPath, args }, live);
    const askOnce: AskOnce = async (to, path) => {
      const agent = newAgent();
      try {
        return await ask(agent, token, to, path);
      } finally {
        agent.destroy();
      }
    };
    const ours = { name: 'portcullis', port, pids: [gateway.pid], pathOf: ({ path }: HttpQuestion) => path };
    const theirs = {
      name: 'rival',
      port: Number(rival.firstLine),
      pids: [rival.pid, postgres.pid],
      pathOf: ({ rivalPath }: HttpQuestion) => rivalPath,
    };
    await untilIndexed(askOnce, port, gateway);
    const hostile = async (question: HostileQuestion): Promise<number> => {
      const agent = newAgent();
      try {
        return await askHostile(agent, token, port, question);
      } finally {
        agent.destroy();
      }
    };
    return { ours, rival: theirs, askOnce, load, askHostile: hostile, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const countPath = '/apis/search.portcullis.io/v1alpha1/indexes/default/counts?resource=pods.v1.';

async function untilIndexed(askOnce: AskOnce, port: number, gateway: BenchProcess): Promise<void> {
  let last: unknown;
  for (const untilMs = Date.now() + settleTimeoutMs; Date.now() < untilMs && gateway.running();) {
    last = await askOnce(port, countPath).catch(String);
    if (Buffer.isBuffer(last) && /"count":20000\b/.test(last.toString('utf8'))) return;
    await pause(500);
  }
  throw new Error(`the members are not indexed: ${String(last)}\n${gateway.words()}`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
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

interface Line {
  readonly text: string;
  readonly holds: boolean;
}

async function compare(site: Site, question: HttpQuestion, rounds: number): Promise<Line> {
  const { ours, rival } = site;
  const found = await rowsOf(site, ours, question);
  const theirs = await rowsOf(site, rival, question);
  const turns = new Map<Target, Turn[]>([ours, rival].map((target) => [target, []]));
  for (let round = 0; round < rounds; round++) {
    for (const target of round % 2 === 0 ? [ours, rival] : [rival, ours]) {
      turns.get(target)!.push(await takeTurn(site, target, question, round === 0 ? firstWarmUpSeconds : warmUpSeconds));
    }
  }
  const of = (target: Target, what: keyof Turn): number => median(turns.get(target)!.map((turn) => turn[what]));
  const ratio = of(rival, 'ms') / of(ours, 'ms');
  const holds = found === theirs && ratio >= question.atLeast;
  const rows = found === theirs ? `${found} rows` : `${found} rows, the rival ${theirs}`;
  const ms = (target: Target): string =>
    `${of(target, 'ms').toFixed(2)} ms (CPU ${of(target, 'cpuMs').toFixed(2)} ms, client ${percent(of(target, 'clientShare'))})`;
  const wanted = `wanted ${question.atLeast}`;
  return {
    text: `http ${question.name}: ${rows}, ${ms(ours)}, rival ${ms(rival)}: ${ratio.toFixed(1)} times (${wanted})`,
    holds,
  };
}

function percent(share: number): string {
  return `${Math.round(100 * share)} % of the machine`;
}

async function rowsOf({ askOnce }: Site, target: Target, question: HttpQuestion): Promise<number> {
  const answer = await askOnce(target.port, target.pathOf(question));
  if (typeof answer === 'number') throw new Error(`answered with ${answer}`);
  return question.counted(JSON.parse(answer.toString('utf8')) as never);
}

const hostileRuns = 9;

/**
 * Measures the gateway's CPU time for an expensive request. It includes what the gateway does at the same time for
 * other reasons.
 */
async function spendOn({ ours, askHostile: ask }: Site, question: HostileQuestion): Promise<Line> {
  const spent: number[] = [];
  let status = 0;
  for (let run = 0; run < hostileRuns; run++) {
    const before = readAll(ours);
    status = await ask(question);
    const after = readAll(ours);
    spent.push(1000 * before.reduce((sum, reading, i) => sum + cpuSecondsBetween(reading, after[i]!), 0));
  }
  const cpuMs = median(spent);
  const text = `http hostile, ${question.name}: ${status}, CPU ${cpuMs.toFixed(1)} ms (wanted ${mostHostileCpuMs})`;
  return { text, holds: cpuMs <= mostHostileCpuMs && status < 500 };
}

/** The result of one measurement: times of answers, and CPU time of the server with its child processes. */
interface Turn {
  /** Median time of an answer in milliseconds. */
  readonly ms: number;
  readonly cpuMs: number;
  /** CPU time of the load generator as a share of all cores. */
  readonly clientShare: number;
}

async function takeTurn(
  { load: { binary, caFile, token } }: Site,
  target: Target,
  question: HttpQuestion,
  warmupSeconds: number,
): Promise<Turn> {
  const load = await openLoad(binary, {
    mode: 'requests',
    address: `127.0.0.1:${target.port}`,
    caFile,
    protocol: 'h1',
    seconds: turnSeconds,
    warmupSeconds,
    groups: [
      {
        name: target.name,
        connections,
        method: 'GET',
        path: target.pathOf(question),
        headers: [
          ['Authorization', `Bearer ${token}`],
          ['Accept', 'application/json'],
        ],
      },
    ],
  });
  try {
    const before = readAll(target);
    const { groups, cpuShare } = await load.go();
    const after = readAll(target);
    const { requests, errors, firstError, p50Ms } = groups[0]!;
    if (errors > 0 || requests === 0) throw new Error(`${target.name}, ${question.name}: ${firstError ?? 'no answer'}`);
    const cpuSeconds = before.reduce((sum, reading, i) => sum + cpuSecondsBetween(reading, after[i]!), 0);
    return { ms: p50Ms, cpuMs: (cpuSeconds * 1000) / requests, clientShare: cpuShare };
  } finally {
    await load.close();
  }
}

function readAll({ pids }: Target): readonly CpuReading[] {
  return pids.map(readCpu);
}
