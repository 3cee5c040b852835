// Plays many cases, one after the other, each against the same gateway, and makes what it finds small. A gateway that
// lives through thousands of cases remembers, so a finding that needs two cases is told as well, though it cannot be
// made small.
import * as fc from 'fast-check';
import { readCorpus } from '../corpus.ts';
import type { Oracle, Verdict } from '../oracle.ts';
import { Finding } from '../target.ts';
import { witness } from './case.ts';
import type { RequestCase } from './case.ts';
import { requestCases } from './grammar.ts';
import { faultOf } from './judge.ts';
import { playHttp1 } from './play-http1.ts';
import { playHttp2 } from './play-http2.ts';
import { startRequestSite } from './site.ts';
import type { Recorded, RequestSite } from './site.ts';
import { openWitness } from './witness.ts';
import type { Witness } from './witness.ts';

/** Name of the corpus, and of the target on the command line. */
export const requestsName = 'requests';

/** Of one case: CPU of this thread, which is client, gateway and member. */
const slowMs = 400;
const readings = 5;
const roundCases = 200;
/** A case that waits for an answer that never comes is made smaller no longer than this. */
const roundMs = 120_000;

/** What was found, with what finds it again. */
export interface RequestFinding {
  readonly what: string;
  readonly seed: number;
  readonly smallest: RequestCase;
}

/** What a campaign did. */
export interface RequestReport {
  readonly cases: number;
  /** Requests of cases that reached a member and were read by Go. */
  readonly compared: number;
  readonly slowestMs: number;
  readonly findings: readonly RequestFinding[];
}

/** A gateway, its members, a witness, and Go. */
export interface RequestBench {
  readonly site: RequestSite;
  readonly witness: Witness;
  readonly oracle: Oracle | undefined;
  compared: number;
  close(): void;
}

/** Starts what cases are played against; without an oracle what the members read is not compared. */
export async function startBench(oracle: Oracle | undefined): Promise<RequestBench> {
  const site = await startRequestSite();
  const asking = openWitness(site);
  return {
    site,
    witness: asking,
    oracle,
    compared: 0,
    close() {
      asking.close();
      site.close();
    },
  };
}

/** Cases of the corpus. */
export function keptRequests(): readonly RequestCase[] {
  return readCorpus(requestsName) as unknown as readonly RequestCase[];
}

/**
 * Plays one case.
 * @throws Finding when something does not hold
 */
export async function playCase(bench: RequestBench, sent: RequestCase): Promise<void> {
  const { site, oracle } = bench;
  site.take();
  const outcome = await (sent.protocol === '1' ? playHttp1(site, sent) : playHttp2(site, sent));
  const witnessed = await bench.witness.ask();
  const record = site.take();
  const { segments } = record;
  const verdicts = oracle === undefined ? undefined : await oracle.ask(segments.map(({ bytes }) => bytes));
  if (verdicts !== undefined) bench.compared += comparedOf(record, verdicts);
  const fault = faultOf({ sent, outcome, record, witnessed, verdicts }, site);
  if (fault !== undefined) throw new Finding(fault);
}

function comparedOf({ segments }: Recorded, verdicts: readonly Verdict[]): number {
  const all = segments.reduce((sum, _, i) => sum + verdicts[i]!.requests.length, 0);
  return all - verdicts.flatMap(({ requests }) => requests).filter(({ user }) => user.name === witness.name).length;
}

/** Runs until the time is over or `cases` are played. */
export async function runRequests(
  bench: RequestBench,
  options: { readonly seed: number; readonly cases: number; readonly untilMs: number },
): Promise<RequestReport> {
  const inputs = requestCases(keptRequests());
  const findings = new Map<string, RequestFinding>();
  let done = 0;
  let slowestMs = 0;
  while (done < options.cases && performance.now() < options.untilMs && findings.size < 10) {
    const seed = (options.seed + done) | 0;
    const numRuns = Math.min(roundCases, options.cases - done);
    const property = fc.asyncProperty(inputs, async (sent) => {
      slowestMs = Math.max(slowestMs, await timed(bench, sent, [...findings.keys()]));
    });
    const result = await fc.check(property, { numRuns, seed, interruptAfterTimeLimit: roundMs });
    done += result.numRuns;
    if (!result.failed) continue;
    const error = result.errorInstance;
    const what = error instanceof Error ? (error instanceof Finding ? error.message : error.stack!) : String(error);
    findings.set(kindOf(what), { what, seed, smallest: result.counterexample![0] });
  }
  return { cases: done, compared: bench.compared, slowestMs, findings: [...findings.values()] };
}

/** Findings of the same kind are told once. */
function kindOf(what: string): string {
  const [kind = ''] = what.split('; the member read');
  return kind.replaceAll(/"(?:[^"\\]|\\.)*"|\d+/g, '…').slice(0, 90);
}

async function timed(bench: RequestBench, sent: RequestCase, known: readonly string[]): Promise<number> {
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let reading = 0; reading < readings; reading++) {
    const before = process.threadCpuUsage();
    try {
      await playCase(bench, sent);
    } catch (error) {
      if (error instanceof Finding && known.includes(kindOf(error.message))) return 0;
      throw error;
    }
    const { user, system } = process.threadCpuUsage(before);
    fastestMs = Math.min(fastestMs, (user + system) / 1000);
    if (fastestMs < slowMs) return fastestMs;
  }
  throw new Finding(`slow: ${Math.round(fastestMs)} ms of CPU at least, ${readings} times`);
}
