// The index over HTTP: `portcullis serve` over two members with 20,000 pods, against Clusterpedia's table behind an HTTPS server, asked in turns by the same
// client over as many connections. Easy to get wrong: both must answer as many rows, so the items of an answer are counted before it is timed.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';

import { createAuthority } from '../../test/controlplane/certificates.ts';
import { cpuSecondsBetween, readCpu, type CpuReading } from '../accounting.ts';
import { startProcess, type BenchProcess, type LiveProcesses } from '../process.ts';
import { median } from '../statistics.ts';
import { freePort } from '../targets/target.ts';
import { clusterObjects, type GeneratedObject } from './generator.ts';
import { askHostile, hostileQuestions, mostHostileCpuMs, type HostileQuestion } from './http-hostile.ts';
import { httpQuestions, type HttpQuestion } from './http-questions.ts';
import { startPostgres, type Postgres } from './postgres.ts';

const members = ['east', 'west'] as const;
/** 2,500 pods each: 20,000 pods. */
const generatedPerMember = 4;
const connections = 4;
const turnMs = 700;
/** What is compiled only after some hundreds of questions is not timed; the first turn of each side goes on until then, but not for ever. */
const warmAnswers = 500;
const longestWarmingMs = 10_000;
const settleTimeoutMs = 300_000;

const root = join(import.meta.dirname, '..', '..');

/** One side. */
interface Target {
  readonly name: string;
  readonly port: number;
  readonly pids: readonly number[];
  readonly pathOf: (question: HttpQuestion) => string;
}

/** Connections of its own: kept ones are ended by a server that was not asked while the other had its turn. */
interface Client {
  /** A body; a number is a status other than 200. */
  readonly ask: (port: number, path: string) => Promise<Buffer | number>;
  readonly close: () => void;
}

interface Site {
  readonly ours: Target;
  readonly rival: Target;
  readonly connect: () => Client;
  /** @returns the status */
  readonly askHostile: (question: HostileQuestion) => Promise<number>;
  readonly close: () => Promise<void>;
}

/** @returns a line for each question that does not hold */
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
    const rival = await startProcess(
      {
        name: 'rival',
        command: process.execPath,
        args: [join(import.meta.dirname, 'rival-server.ts'), postgres.directory, cert, key, token],
        firstLine: true,
      },
      live,
    );
    const users = file('http-users.csv', `${token},reader,,system:masters\n`);
    const port = await freePort();
    const args = [
      ...[join(root, 'bin', 'portcullis.mjs'), 'serve', '--listen', `127.0.0.1:${port}`, '--ops-listen', '127.0.0.1:0'],
      ...['--data-dir', join(directory, 'gateway'), '--kubeconfig', file('members.json', JSON.stringify(kubeconfig))],
      ...['--token-auth-file', users, '--tls-cert-file', cert, '--tls-private-key-file', key],
      ...['--index-resources', 'pods'],
    ];
    const gateway = await startProcess({ name: 'portcullis', command: process.execPath, args }, live);
    const connect = (): Client => {
      const agent = newAgent();
      return { ask: asker(agent, token), close: () => agent.destroy() };
    };
    const ours = { name: 'portcullis', port, pids: [gateway.pid], pathOf: ({ path }: HttpQuestion) => path };
    const theirs = {
      name: 'rival',
      port: Number(rival.firstLine),
      pids: [rival.pid, postgres.pid],
      pathOf: ({ sql }: HttpQuestion) => `/?sql=${encodeURIComponent(sql)}`,
    };
    await untilIndexed(connect, port, gateway);
    const hostile = async (question: HostileQuestion): Promise<number> => {
      const agent = newAgent();
      try {
        return await askHostile(agent, token, port, question);
      } finally {
        agent.destroy();
      }
    };
    return { ours, rival: theirs, connect, askHostile: hostile, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const countPath = '/apis/search.portcullis.io/v1alpha1/indexes/default/counts?resource=pods.v1.';

async function untilIndexed(connect: () => Client, port: number, gateway: BenchProcess): Promise<void> {
  let last: unknown;
  for (const untilMs = Date.now() + settleTimeoutMs; Date.now() < untilMs && gateway.running();) {
    const client = connect();
    const answer = await client.ask(port, countPath).catch(String);
    client.close();
    last = answer;
    if (Buffer.isBuffer(answer) && /"count":20000\b/.test(answer.toString('utf8'))) return;
    await pause(500);
  }
  throw new Error(`the members are not indexed: ${String(last)}\n${gateway.words()}`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function asker(agent: Agent, token: string): Client['ask'] {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  return (port, path) =>
    new Promise((resolve, reject) => {
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

async function compare({ ours, rival, connect }: Site, question: HttpQuestion, rounds: number): Promise<Line> {
  const found = await rowsOf(ours, question, connect());
  const theirs = await rowsOf(rival, question, connect());
  const times: Record<string, Turn[]> = { [ours.name]: [], [rival.name]: [] };
  for (let round = -1; round < rounds; round++) {
    for (const target of round % 2 === 0 ? [ours, rival] : [rival, ours]) {
      const turn = await takeTurn(target, question, connect(), round < 0 ? warmAnswers : 0);
      // The first warms both up.
      if (round >= 0) times[target.name]!.push(turn);
    }
  }
  const of = (target: Target, what: keyof Turn): number => median(times[target.name]!.map((turn) => turn[what]));
  const ratio = of(rival, 'ms') / of(ours, 'ms');
  const holds = found === theirs && ratio >= question.atLeast;
  const rows = found === theirs ? `${found} rows` : `${found} rows, the rival ${theirs}`;
  const ms = (target: Target): string => `${of(target, 'ms').toFixed(2)} ms (CPU ${of(target, 'cpuMs').toFixed(2)} ms)`;
  const wanted = `wanted ${question.atLeast}`;
  return {
    text: `http ${question.name}: ${rows}, ${ms(ours)}, rival ${ms(rival)}: ${ratio.toFixed(1)} times (${wanted})`,
    holds,
  };
}

async function rowsOf(target: Target, question: HttpQuestion, client: Client): Promise<number> {
  const answer = await client.ask(target.port, target.pathOf(question));
  client.close();
  if (typeof answer === 'number') throw new Error(`answered with ${answer}`);
  return question.counted(JSON.parse(answer.toString('utf8')) as never);
}

const hostileRuns = 9;

/** CPU of the gateway for a question that is made to cost; what it does beside is in it. */
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

/** What an answer took, and what it cost the target and all it has started. */
interface Turn {
  readonly ms: number;
  readonly cpuMs: number;
}

async function takeTurn(
  target: Target,
  question: HttpQuestion,
  { ask, close }: Client,
  leastAnswers: number,
): Promise<Turn> {
  const path = target.pathOf(question);
  // Handshakes are no part of it.
  await Promise.all(Array.from({ length: connections }, () => ask(target.port, path)));
  const before = readAll(target);
  const startMs = performance.now();
  const isOver = (): boolean => {
    const ms = performance.now() - startMs;
    return ms >= turnMs && (times.length >= leastAnswers || ms >= longestWarmingMs);
  };
  const times: number[] = [];
  const one = async (): Promise<void> => {
    do {
      const startedMs = performance.now();
      if (typeof (await ask(target.port, path)) === 'number') throw new Error(`${target.name} refused ${path}`);
      times.push(performance.now() - startedMs);
    } while (!isOver());
  };
  await Promise.all(Array.from({ length: connections }, one));
  const after = readAll(target);
  close();
  const cpuSeconds = before.reduce((sum, reading, i) => sum + cpuSecondsBetween(reading, after[i]!), 0);
  return { ms: median(times), cpuMs: (cpuSeconds * 1000) / times.length };
}

function readAll({ pids }: Target): readonly CpuReading[] {
  return pids.map(readCpu);
}
