// `npm run bench`: starts an API server and the programs to compare, runs the chosen scenarios in rounds, and prints
// which limits hold. An interrupted run must stop every process that it started. A run in which requests failed must
// fail, even if its figures look good.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { measureCeiling } from './ceiling.ts';
import { evaluate } from './figures/checks.ts';
import { writeDocs } from './report/docs.ts';
import { buildGo } from './go-build.ts';
import { describeMachine } from './machine.ts';
import { startRealMember, startStubMember } from './member.ts';
import { parseOptions, usage, UsageError, type Options } from './options.ts';
import { reportChart } from './report/report-chart.ts';
import { reportMarkdown, reportText, type Report } from './report/report.ts';
import { distribute } from './scenarios/distribute.ts';
import { distributeFleet } from './scenarios/distribute-fleet.ts';
import { events } from './scenarios/events.ts';
import { fairness } from './scenarios/fairness.ts';
import { firstRequestsScenario } from './scenarios/first-requests.ts';
import { hub } from './scenarios/hub.ts';
import { memory } from './scenarios/memory.ts';
import { observability } from './scenarios/observability.ts';
import { registrations } from './scenarios/registrations.ts';
import { requests, stubRequests } from './scenarios/requests.ts';
import { scale } from './scenarios/scale.ts';
import { contendersOf, type Bench, type Contender, type Sample, type Scenario } from './scenarios/scenario.ts';
import { stall } from './scenarios/stall.ts';
import { identities } from './scenarios/identities.ts';
import { manyWatches, watch } from './scenarios/watch.ts';
import { workers } from './scenarios/workers.ts';
import { createSite, type Site } from './site.ts';
import { createRandom } from './figures/statistics.ts';
import { direct } from './targets/direct.ts';
import { express } from './targets/express.ts';
import { go, goTuned } from './targets/go-proxy.ts';
import { haproxy } from './targets/haproxy.ts';
import { kubectlProxy } from './targets/kubectl-proxy.ts';
import { nginx } from './targets/nginx.ts';
import { otherCheckout, portcullis } from './targets/portcullis.ts';
import type { Target } from './targets/target.ts';

const allTargets: readonly Target[] = [direct, portcullis, express, go, goTuned, nginx, haproxy, kubectlProxy];
/**
 * Programs that are measured only when --target names them: `go-tuned` is another setting of `go`, and `kubectl-proxy`
 * does less work than the other programs.
 */
const onDemand = new Set(['go-tuned', 'kubectl-proxy']);
const scenarios: readonly Scenario[] = [
  requests,
  watch,
  memory,
  stall,
  fairness,
  registrations,
  firstRequestsScenario,
  hub,
  workers,
  stubRequests,
  manyWatches,
  events,
  observability,
  identities,
  scale,
  distribute,
  distributeFleet,
];

function progress(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === 'console') return (await import('./console/main.ts')).benchConsole(argv.slice(1));
  if (argv[0] === 'search') return (await import('./search/main.ts')).benchSearch(argv.slice(1));
  const options = parseOptions(argv, {
    scenarios: scenarios.flatMap((scenario) => scenario.names),
    targets: allTargets.map((target) => target.name),
  });
  if (options === 'help') {
    console.log(usage);
    return 0;
  }
  const loadBinary = await buildGo('load', progress);
  const site = await createSite((dir, live) =>
    options.member === 'stub' ? startStubMember(dir, live, progress) : startRealMember(dir, progress),
  );
  try {
    return await runAll(options, site, loadBinary, argv);
  } finally {
    await site.close();
  }
}

async function runAll(options: Options, site: Site, loadBinary: string, argv: readonly string[]): Promise<number> {
  const startedAt = new Date();
  const chosen = allTargets.filter(({ name }) =>
    options.targets.length === 0 ? !onDemand.has(name) : options.targets.includes(name),
  );
  const wanted = options.against === undefined ? chosen : [...chosen, otherCheckout(options.against)];
  const installed: Target[] = [];
  for (const target of wanted) {
    if ((await target.version()) === undefined) progress(`${target.name}: not installed`);
    else installed.push(target);
  }
  const contenders = contendersOf(installed);
  const samples: Sample[] = [];
  const bench: Bench = {
    site,
    options,
    contenders,
    loadBinary,
    random: createRandom(options.seed),
    progress,
    record: (sample) => {
      samples.push(sample);
      if (sample.errors > 0)
        progress(`${sample.scenario} ${sample.contender}: ${sample.errors} errors: ${sample.firstError}`);
    },
  };
  const ran: string[] = [];
  for (const scenario of scenarios) {
    const chosen = scenario.names.filter((name) => wantsScenario(options, scenario, name));
    if (chosen.length === 0) continue;
    progress(`scenario ${chosen.join(', ')}`);
    await scenario.run(bench, chosen);
    ran.push(...chosen);
  }
  const report: Report = {
    machine: await describeMachine(site.member, wanted),
    command: ['npm run bench', ...(argv.length > 0 ? ['--', ...argv] : [])].join(' '),
    startedAt: startedAt.toISOString(),
    seconds: (Date.now() - startedAt.getTime()) / 1000,
    rounds: options.rounds,
    seed: options.seed,
    quick: options.quick,
    generatorCeiling: await measureCeiling(bench),
    notInstalled: wanted.filter((target) => !installed.includes(target)).map(({ name }) => name),
    checks: options.quick ? [] : evaluate(samples, ran, options.seed, options.against !== undefined),
    samples,
  };
  await publish(report, contenders, options);
  return exitCode(report);
}

function wantsScenario({ scenarios: named, all }: Options, scenario: Scenario, name: string): boolean {
  return named.length === 0 ? all || scenario.onDemand !== true : named.includes(name);
}

async function publish(report: Report, contenders: readonly Contender[], options: Options): Promise<void> {
  console.log(reportText(report, contenders));
  await mkdir(options.out, { recursive: true });
  const chart = reportChart(report, contenders);
  await writeFile(path.join(options.out, 'bench.json'), `${JSON.stringify(report, undefined, 1)}\n`);
  await writeFile(path.join(options.out, 'bench.svg'), chart);
  progress(`wrote ${path.join(options.out, 'bench.json')} and bench.svg`);
  if (!options.writeDocs) return;
  await writeDocs(path.join(import.meta.dirname, '..', 'docs'), reportMarkdown(report, contenders), chart);
  progress('wrote docs/performance.md');
}

/** The exit code: 0 when no request failed and every limit holds, otherwise 1. */
function exitCode(report: Report): number {
  const failedSamples = report.samples.filter((sample) => sample.errors > 0);
  const open = report.checks.filter(({ outcome }) => outcome !== 'holds');
  if (failedSamples.length > 0) progress(`${failedSamples.length} samples had errors`);
  for (const { check, outcome } of open) progress(`${check.scenario} ${check.says}: ${outcome}`);
  if (report.quick && failedSamples.length === 0) progress('every target answered');
  return failedSamples.length === 0 && open.length === 0 ? 0 : 1;
}

// An exit handler kills every process that was started. Node does not run exit handlers when a signal ends the process,
// so these signals call process.exit.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const message = error instanceof UsageError ? error.message : ((error as Error).stack ?? String(error));
  process.stderr.write(`${message}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
