// The options of `npm run bench`. --quick runs every scenario for a moment, to see that it works: its figures mean
// nothing and no limits are checked. A quick run uses a stub API server unless an option names another one.
import path from 'node:path';
import { parseArgs } from 'node:util';

import { minimumRounds } from './figures/statistics.ts';

/** The options of a run: what to measure, how often, and where to write the results. */
export interface Options {
  readonly quick: boolean;
  /** True to run all scenarios, including those that otherwise run only when they are named. */
  readonly all: boolean;
  /** Names of scenarios; empty when none was given, which means all that run by default. */
  readonly scenarios: readonly string[];
  /** Names of programs to measure; empty when none was given, which means all that run by default. */
  readonly targets: readonly string[];
  readonly rounds: number;
  /** Path of another checkout of this repository, whose gateway is measured too; undefined for none. */
  readonly against: string | undefined;
  /** Length of one sample of requests in seconds; undefined for the length that each scenario has by default. */
  readonly seconds: number | undefined;
  readonly member: 'kube-apiserver' | 'stub';
  readonly out: string;
  readonly writeDocs: boolean;
  readonly seed: number;
}

/** Number of registered clusters in a quick run of scenarios that otherwise have thousands. */
export const quickClusters = 50;

/** A mistake in the options. The message says how to correct it. */
export class UsageError extends Error {}

export const usage = `npm run bench -- [SCENARIO…] [options]
  --quick            two short rounds, stub member, no checks: does every target answer (under 2 minutes)
  search [options]   the index's store against Clusterpedia's schema on PostgreSQL; --clusters N, --rounds N
  console [options]  budgets of the web console in Chromium; --quick, --only NAME, --minutes N, --write-docs
  --scenario NAME    only this one (repeatable), the same as SCENARIO
  --target NAME      only this one (repeatable); go-tuned and kubectl-proxy run only when named
  --all              every scenario: without it those that take long or start control planes run only when named
  --against DIR      measure the gateway of another checkout, too, as other: what has a change cost?
  --rounds N         paired rounds, default 24; a check needs at least ${minimumRounds}
  --seconds N        length of one request sample, default 1 (one connection) or 2
  --backend KIND     kube-apiserver (default; built once) or stub
  --out DIR          default bench/out
  --write-docs       renew the generated part of docs/performance.md
  --seed N           order of contenders and bootstrap, default 1
  --help`;

/**
 * Parses and checks the command line options.
 * @param known names that --scenario and --target accept
 * @throws UsageError whose message says how to correct the options
 */
export function parseOptions(
  argv: readonly string[],
  known: { readonly scenarios: readonly string[]; readonly targets: readonly string[] },
): Options | 'help' {
  const { values, positionals } = parse(argv);
  if (values.help === true) return 'help';
  const quick = values.quick === true;
  const member = values.backend ?? (quick ? 'stub' : 'kube-apiserver');
  if (member !== 'kube-apiserver' && member !== 'stub') {
    throw new UsageError(`--backend ${member}: say kube-apiserver or stub`);
  }
  if (quick && values['write-docs'] === true) throw new UsageError('--write-docs needs a full run, not --quick');
  return Object.freeze({
    quick,
    all: values.all === true,
    scenarios: chosen('--scenario', [...(values.scenario ?? []), ...positionals], known.scenarios),
    targets: chosen('--target', values.target, known.targets),
    against: values.against === undefined ? undefined : path.resolve(values.against),
    rounds: positive('--rounds', values.rounds) ?? (quick ? 2 : 24),
    seconds: positive('--seconds', values.seconds),
    member,
    out: path.resolve(values.out ?? path.join(import.meta.dirname, 'out')),
    writeDocs: values['write-docs'] === true,
    seed: positive('--seed', values.seed) ?? 1,
  });
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        quick: { type: 'boolean' },
        all: { type: 'boolean' },
        scenario: { type: 'string', multiple: true },
        target: { type: 'string', multiple: true },
        against: { type: 'string' },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        backend: { type: 'string' },
        out: { type: 'string' },
        'write-docs': { type: 'boolean' },
        seed: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`);
  }
}

function chosen(flag: string, given: readonly string[] | undefined, known: readonly string[]): readonly string[] {
  const unknown = given?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(`${flag} ${unknown}: there are ${known.join(', ')}`);
  return Object.freeze([...(given ?? [])]);
}

function positive(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  const whole = flag === '--seconds' || Number.isInteger(value);
  if (!(value > 0) || !whole) throw new UsageError(`${flag} ${text}: needs a positive number`);
  return value;
}
