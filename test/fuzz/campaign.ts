// Runs many cases of one target: makes them, checks them, has Go read what we accept. The machine is shared, so a case
// is measured in CPU time of this thread, which collecting garbage is part of, and it is slow only when it is slow
// every time of ten.
import * as fc from 'fast-check';
import { readConnection } from './connection.ts';
import { difference } from './comparison.ts';
import { readCorpus } from './corpus.ts';
import type { Oracle } from './oracle.ts';
import { smaller } from './shrink.ts';
import { Finding } from './target.ts';
import type { Claim, FuzzTarget, Input } from './target.ts';

/** What a campaign did. */
export interface CampaignReport {
  readonly target: string;
  readonly cases: number;
  /** Cases of which something was accepted that Go read as well. */
  readonly compared: number;
  /** The slowest case, CPU milliseconds, of those that were looked at twice. */
  readonly slowestMs: number;
  /** Each with the seed that finds it again; empty when all is well. */
  readonly findings: readonly string[];
}

/** Cases between two questions to Go. */
const roundCases = 2_000;
/** Wall clock above which a case is read again to measure it. */
const suspiciousMs = 10;
const readings = 10;

/**
 * Runs `cases` cases; stops at the first finding.
 * @param seed the same seed makes the same cases
 */
export async function runCampaign(
  target: FuzzTarget,
  cases: number,
  seed: number,
  oracle: Oracle | undefined,
): Promise<CampaignReport> {
  const inputs = target.arbitrary(readCorpus(target.name));
  let compared = 0;
  let slowestMs = 0;
  const findings: string[] = [];
  for (let done = 0; done < cases && findings.length === 0; done += roundCases) {
    const claims: Claim[] = [];
    const roundSeed = (seed + done) | 0;
    const numRuns = Math.min(roundCases, cases - done);
    const result = fc.check(
      fc.property(inputs, (input) => {
        const { claim, cpuMs } = timedCheck(target, input);
        slowestMs = Math.max(slowestMs, cpuMs);
        if (claim !== undefined) claims.push(claim);
      }),
      { numRuns, seed: roundSeed },
    );
    if (result.failed) findings.push(failureText(target, result, roundSeed));
    else if (oracle !== undefined) {
      compared += claims.length;
      findings.push(...(await compare(target, claims, oracle, roundSeed)));
    }
  }
  return { target: target.name, cases, compared, slowestMs, findings };
}

/** @throws whatever the target throws; Finding for a slow case */
export function timedCheck<T extends Input>(
  target: FuzzTarget<T>,
  input: T,
): { readonly claim: Claim | undefined; readonly cpuMs: number } {
  const startedMs = performance.now();
  const claim = target.check(input);
  if (performance.now() - startedMs < suspiciousMs) return { claim, cpuMs: 0 };
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let reading = 0; reading < readings && fastestMs > target.slowMs; reading++) {
    const before = process.threadCpuUsage();
    target.check(input);
    const { user, system } = process.threadCpuUsage(before);
    fastestMs = Math.min(fastestMs, (user + system) / 1000);
  }
  if (fastestMs > target.slowMs)
    throw new Finding(`slow: ${Math.round(fastestMs)} ms of CPU at least, ${readings} times`);
  return { claim, cpuMs: fastestMs };
}

/**
 * Has Go read what was accepted.
 * @returns the first few differences, each with the smallest connection that shows it
 */
export async function compare(
  target: FuzzTarget,
  claims: readonly Claim[],
  oracle: Oracle,
  seed: number,
): Promise<readonly string[]> {
  const verdicts = await oracle.ask(claims.map(({ bytes }) => bytes));
  const seen = new Map<string, string>();
  for (const [index, claim] of claims.entries()) {
    const found = difference(claim.read, verdicts[index]!);
    if (found === undefined || seen.size >= 5) continue;
    const { bytes, what } = await smaller(claim.bytes, found, async (shorter) => {
      const [verdict] = await oracle.ask([shorter]);
      return difference(readConnection(shorter), verdict!);
    });
    seen.set(
      bytes.toString('latin1'),
      `${target.name} (seed ${seed}): ${what}\n  ${JSON.stringify(bytes.toString('latin1'))}`,
    );
  }
  return [...seen.values()];
}

function failureText(target: FuzzTarget, result: fc.RunDetails<[Input]>, seed: number): string {
  const error = result.errorInstance;
  const what = error instanceof Finding ? error.message : error instanceof Error ? error.stack : String(error);
  const input = JSON.stringify(result.counterexample?.[0]);
  return `${target.name} (seed ${seed}): ${what}\n  ${input.length > 4000 ? `${input.slice(0, 4000)}… (${input.length})` : input}`;
}
