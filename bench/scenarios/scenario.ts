// The types and helpers that all scenarios of the benchmark share. A scenario records one sample for each contender and
// round. A contender is one program with one HTTP version, or one of the cases that the scenario compares. In every
// round the contenders run in a new random order, so that a change in the speed of the machine affects all of them
// alike.
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';

import { startStubMember } from '../member.ts';
import type { Protocol, RequestsResult } from '../load.ts';
import type { Options } from '../options.ts';
import type { Site } from '../site.ts';
import { shuffled } from '../figures/statistics.ts';
import type { Target } from '../targets/target.ts';

/** One measured program together with the HTTP version between it and its clients. */
export interface Contender {
  /** Name in checks, tables and JSON, for example `portcullis-h2`. */
  readonly id: string;
  readonly target: Target;
  readonly protocol: Protocol;
}

/** The measured values of one contender in one round. The names of the values contain their units. */
export interface Sample {
  readonly scenario: string;
  readonly round: number;
  readonly contender: string;
  readonly values: Readonly<Record<string, number>>;
  /** Number of failed requests. A run fails when a request of any sample failed. */
  readonly errors: number;
  readonly firstError?: string;
}

/** The setup and the options that `run` of every scenario gets. */
export interface Bench {
  readonly site: Site;
  readonly options: Options;
  /**
   * All combinations of program and HTTP version to measure. One of the programs is `direct`, the API server without a
   * proxy.
   */
  readonly contenders: readonly Contender[];
  readonly loadBinary: string;
  readonly random: () => number;
  readonly progress: (line: string) => void;
  readonly record: (sample: Sample) => void;
}

/**
 * Number of rounds after which slow scenarios measure only the programs for which a limit is checked. The other
 * programs would take most of the time.
 */
export const orientationRounds = 5;

/** A part of the benchmark, which has one or several names that --scenario accepts. */
export interface Scenario {
  readonly names: readonly string[];
  /**
   * True for a scenario that runs only when it is named or with --all, because it starts control planes of its own or
   * takes long.
   */
  readonly onDemand?: boolean;
  /** Runs the parts of the scenario whose names are in `chosen`. */
  readonly run: (bench: Bench, chosen: readonly string[]) => Promise<void>;
}

/**
 * Runs a scenario in front of the stub API server, for scenarios that measure what a proxy alone costs. A stub is
 * started for the scenario if the run otherwise uses a real API server.
 */
export async function onStub(outer: Bench, run: (bench: Bench) => Promise<void>): Promise<void> {
  if (outer.site.member.kind === 'stub') return await run(outer);
  const dir = await mkdtemp(path.join(outer.site.dir, 'stub-'));
  const member = await startStubMember(dir, outer.site.live, outer.progress);
  try {
    await run({ ...outer, site: { ...outer.site, member } });
  } finally {
    await member.stop();
  }
}

/** All contenders of the given programs: one for each HTTP version that a program supports towards clients. */
export function contendersOf(targets: readonly Target[]): Contender[] {
  return targets.flatMap((target) =>
    target.protocols.map((protocol) => ({ id: `${target.name}-${protocol}`, target, protocol })),
  );
}

/**
 * Calls `measure` once for each item in each round. The items have a new random order in every round; rounds are
 * counted from `first`.
 */
export async function interleave<T>(
  bench: Bench,
  items: readonly T[],
  rounds: number,
  measure: (item: T, round: number) => Promise<void>,
  first = 1,
): Promise<void> {
  const last = first + rounds - 1;
  for (let round = first; round <= last; round += 1) {
    bench.progress(`round ${round} of ${last}`);
    for (const item of shuffled(items, bench.random)) await measure(item, round);
  }
}

/** Number of rounds of a scenario that starts a process for every measurement: as chosen, but one in a quick run. */
export function slowRounds(bench: Bench): number {
  return bench.options.quick ? 1 : bench.options.rounds;
}

/** The errors in a result of the load generator, as the fields of a sample. */
export function errorsOf(result: RequestsResult): { readonly errors: number; readonly firstError?: string } {
  const errors = result.groups.reduce((sum, group) => sum + group.errors, 0);
  const firstError = result.groups.find((group) => group.firstError !== undefined)?.firstError;
  return firstError === undefined ? { errors } : { errors, firstError };
}
