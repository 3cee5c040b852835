// Sends the same request to the compared servers alternately, and checks first that their answers have the same number
// of rows.
import { cpuSecondsBetween, readCpu, type CpuReading } from '../../figures/accounting.ts';
import { median } from '../../figures/statistics.ts';
import { openLoad } from '../../load.ts';
import type { HttpQuestion } from './questions.ts';
import type { Site, Target } from './site.ts';

const connections = 4;
const turnSeconds = 0.8;
const warmUpSeconds = 0.2;
/**
 * Seconds for which each server answers a request before it is measured for the first time, since V8 compiles some code
 * only after hundreds of answers.
 */
const firstWarmUpSeconds = 4;

/** The measured values of one server for one request. */
export interface Asked {
  readonly rows: number;
  /** Median time of an answer in milliseconds. */
  readonly ms: number;
  /** CPU time of the server's processes for one answer, in milliseconds. */
  readonly cpuMs: number;
  /** CPU time of the server's processes for one answer in each round, in milliseconds. */
  readonly cpuMsOfRounds: readonly number[];
  readonly text: string;
}

interface Turn {
  readonly ms: number;
  readonly cpuMs: number;
  /** CPU time of the load generator as a share of all cores of the machine. */
  readonly clientShare: number;
}

/**
 * Sends the request to one server after the other, in several rounds, and returns the measured values of each server.
 */
export async function askInTurns(
  site: Site,
  targets: readonly Target[],
  question: HttpQuestion,
  rounds: number,
): Promise<ReadonlyMap<Target, Asked>> {
  const rows = new Map<Target, number>();
  for (const target of targets) rows.set(target, await rowsOf(site, target, question));
  const timeSlices = new Map<Target, Turn[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < rounds; round++) {
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      const warmUp = round === 0 ? firstWarmUpSeconds : warmUpSeconds;
      timeSlices.get(target)!.push(await takeTurn(site, target, question, warmUp));
    }
  }
  return new Map(
    targets.map((target) => {
      const of = (what: keyof Turn): number => median(timeSlices.get(target)!.map((turn) => turn[what]));
      const [ms, cpuMs] = [of('ms'), of('cpuMs')];
      const client = `${Math.round(100 * of('clientShare'))} % of the machine`;
      const text = `${ms.toFixed(2)} ms (CPU ${cpuMs.toFixed(2)} ms, client ${client})`;
      const cpuMsOfRounds = timeSlices.get(target)!.map((turn) => turn.cpuMs);
      return [target, { rows: rows.get(target)!, ms, cpuMs, cpuMsOfRounds, text }];
    }),
  );
}

async function rowsOf({ askOnce }: Site, target: Target, question: HttpQuestion): Promise<number> {
  const answer = await askOnce(target.port, target.pathOf(question));
  if (typeof answer === 'number') throw new Error(`${target.name} answered with ${answer}`);
  return question.counted(JSON.parse(answer.toString('utf8')) as never);
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
        timeoutMs: answerTimeoutMs,
      },
    ],
  });
  try {
    const before = readAll(target);
    const { groups, cpuShare } = await load.go();
    const after = readAll(target);
    const { requests, errors, firstError, p50Ms } = groups[0]!;
    if (errors > 0 || requests === 0) throw new Error(`${target.name}, ${question.name}: ${firstError ?? 'no answer'}`);
    return { ms: p50Ms, cpuMs: (1000 * secondsBetween(before, after)) / requests, clientShare: cpuShare };
  } finally {
    await load.close();
  }
}

/** Timeout of a request in milliseconds. Clusterpedia's API server may have to read every row for an answer. */
const answerTimeoutMs = 300_000;

/** Reads the CPU time that each of a server's processes has used. */
export function readAll({ pids }: Target): readonly CpuReading[] {
  return pids.map(readCpu);
}

/** Seconds of CPU time that a server used between two readings. */
export function secondsBetween(before: readonly CpuReading[], after: readonly CpuReading[]): number {
  return before.reduce((sum, reading, i) => sum + cpuSecondsBetween(reading, after[i]!), 0);
}
