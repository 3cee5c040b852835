// What a scenario is and what it leaves behind: one sample per lane and round. Lanes are run in a new random order in
// every round, so that a machine that slows down or a neighbour that wakes up hits all of them alike.
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';

import { startStubMember } from '../member.ts';
import type { Protocol, RequestsResult } from '../load.ts';
import type { Options } from '../options.ts';
import type { Site } from '../site.ts';
import { shuffled } from '../figures/statistics.ts';
import type { Target } from '../targets/target.ts';

/** One target asked over one protocol. */
export interface Lane {
  /** `portcullis-h2`: what checks, tables and JSON call it. */
  readonly id: string;
  readonly target: Target;
  readonly protocol: Protocol;
}

/** What one lane did in one round; units are in the names of the values. */
export interface Sample {
  readonly scenario: string;
  readonly round: number;
  readonly lane: string;
  readonly values: Readonly<Record<string, number>>;
  /** Failed requests and the first reason; a run with any fails. */
  readonly errors: number;
  readonly firstError?: string;
}

/** What every scenario is given. */
export interface Bench {
  readonly site: Site;
  readonly options: Options;
  /** Of the installed and chosen targets, `direct` included. */
  readonly lanes: readonly Lane[];
  readonly loadBinary: string;
  readonly random: () => number;
  readonly progress: (line: string) => void;
  readonly record: (sample: Sample) => void;
}

/**
 * Rounds after which slow scenarios leave out targets that no check reads: they are for orientation and take most of
 * the time.
 */
export const orientationRounds = 5;

/** A part of the bench that can be chosen by name. */
export interface Scenario {
  readonly names: readonly string[];
  /** Runs only when named, or with --all: it starts control planes of its own, or takes long. */
  readonly onDemand?: boolean;
  /** Runs those of its names that were chosen. */
  readonly run: (bench: Bench, chosen: readonly string[]) => Promise<void>;
}

/**
 * Runs a scenario on the stub, started for it where the run has a real member: what a proxy itself costs is the
 * question then.
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

/** All lanes of the targets. */
export function lanesOf(targets: readonly Target[]): Lane[] {
  return targets.flatMap((target) =>
    target.protocols.map((protocol) => ({ id: `${target.name}-${protocol}`, target, protocol })),
  );
}

/** Calls `measure` once per item and round, in a new random order each round; rounds count from 1. */
export async function interleave<T>(
  bench: Bench,
  items: readonly T[],
  rounds: number,
  measure: (item: T, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    bench.progress(`round ${round} of ${rounds}`);
    for (const item of shuffled(items, bench.random)) await measure(item, round);
  }
}

/** Rounds of a scenario that starts a process for every measurement: a smoke test needs one. */
export function slowRounds(bench: Bench): number {
  return bench.options.quick ? 1 : bench.options.rounds;
}

/** Errors of a load result, ready to be spread into a sample. */
export function errorsOf(result: RequestsResult): { readonly errors: number; readonly firstError?: string } {
  const errors = result.groups.reduce((sum, group) => sum + group.errors, 0);
  const firstError = result.groups.find((group) => group.firstError !== undefined)?.firstError;
  return firstError === undefined ? { errors } : { errors, firstError };
}
