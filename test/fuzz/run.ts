// `npm run fuzz`: a million cases over all parsers, on two threads, what we accept read by Go as well. The seed is
// printed first, or a run that crashes could not be repeated.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { CampaignReport } from './campaign.ts';
import { expensiveName, expensiveReportText, fuzzExpensive } from './expensive/run.ts';
import { ensureBinaries } from '../controlplane/build.ts';
import { requestsName } from './requests/campaign.ts';
import { fuzzRequests, keepFindings, requestReportText } from './requests/run.ts';
import { targets, wholeShare } from './targets/all.ts';
import type { Work } from './worker.ts';

const usage = `npm run fuzz -- [options]
  --cases N       cases over all targets (default 1,000,000)
  --seed N        repeats a run (default: random, printed)
  --target NAME   one target alone; repeatable: ${targets.map(({ name }) => name).join(', ')};
                  or requests, alone: whole requests against a gateway;
                  or expensive, alone: expressions of authors, while others ask
  --minutes N     how long requests and expensive go on (default 5; --cases N ends them earlier)
  --no-oracle     without Go's reading, which needs Go to be built
`;

/** How a run went. */
export interface FuzzReport {
  readonly seed: number;
  readonly reports: readonly CampaignReport[];
  readonly cases: number;
  readonly compared: number;
  readonly seconds: number;
  readonly findings: readonly string[];
}

const threads = 2;

/**
 * Runs the cases.
 * @param only names of targets; empty means all
 */
export async function fuzz(
  cases: number,
  seed: number,
  compare: boolean,
  only: readonly string[] = [],
): Promise<FuzzReport> {
  if (compare) await ensureBinaries(['fuzz-oracle']);
  const chosen = targets.filter(({ name }) => only.length === 0 || only.includes(name));
  if (chosen.length === 0) throw new Error(`no target is called ${only.join(' or ')}`);
  const whole = only.length === 0 ? wholeShare : chosen.reduce((sum, { share }) => sum + share, 0);
  const startedMs = performance.now();
  const parts = Array.from({ length: threads }, (_, index) => {
    const shares = chosen.map(({ name, share }) => {
      const own = Math.round((cases * share) / whole);
      return { target: name, cases: index === 0 ? Math.ceil(own / threads) : Math.floor(own / threads) };
    });
    return inThread({ seed: (seed + index * 0x1000_0000) | 0, compare, shares });
  });
  const reports = (await Promise.all(parts)).flat();
  return {
    seed,
    reports,
    cases: reports.reduce((sum, one) => sum + one.cases, 0),
    compared: reports.reduce((sum, one) => sum + one.compared, 0),
    seconds: (performance.now() - startedMs) / 1000,
    findings: reports.flatMap(({ findings }) => findings),
  };
}

function inThread(work: Work): Promise<readonly CampaignReport[]> {
  return new Promise((resolve, reject) => {
    const reports: CampaignReport[] = [];
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: work });
    worker.on('message', (report: CampaignReport) => reports.push(report));
    worker.on('error', reject);
    worker.on('exit', (code) => (code === 0 ? resolve(reports) : reject(new Error(`a thread ended with ${code}`))));
  });
}

/** A table, then what was found. */
export function reportText({ reports, cases, compared, seconds, findings }: FuzzReport): string {
  const lines = targets.flatMap(({ name }) => {
    const own = reports.filter(({ target }) => target === name);
    if (own.length === 0) return [];
    const sum = (read: (report: CampaignReport) => number): number => own.reduce((total, one) => total + read(one), 0);
    const slowest = Math.max(...own.map(({ slowestMs }) => slowestMs));
    return [
      `${name.padEnd(20)} ${String(sum((one) => one.cases)).padStart(9)} ${String(sum((one) => one.compared)).padStart(10)} ${slowest.toFixed(0).padStart(8)}`,
    ];
  });
  return [
    `${'target'.padEnd(20)} ${'cases'.padStart(9)} ${'read by Go'.padStart(10)} ${'slow ms'.padStart(8)}`,
    ...lines,
    `${cases} cases, ${compared} read by Go as well, ${seconds.toFixed(0)} s, ${findings.length} findings`,
    ...findings,
    '',
  ].join('\n');
}

/** Whole requests; what is found goes into the corpus. */
async function runRequestTarget(
  seed: number,
  minutes: string,
  cases: string | undefined,
  compare: boolean,
): Promise<void> {
  console.log(`seed ${seed}: npm run fuzz -- --target ${requestsName} --minutes ${minutes} --seed ${seed}`);
  const report = await fuzzRequests({
    seed,
    cases: cases === undefined ? Number.POSITIVE_INFINITY : Number(cases),
    seconds: Number(minutes) * 60,
    compare,
  });
  keepFindings(report.findings);
  process.stdout.write(requestReportText(report));
  if (report.findings.length > 0) process.exitCode = 1;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string' },
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string' },
      target: { type: 'string', multiple: true, default: [] },
      'no-oracle': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else if (values.target.includes(expensiveName)) {
    const seed = values.seed === undefined ? randomInt(0x7fff_ffff) : Number(values.seed);
    console.log(`seed ${seed}: npm run fuzz -- --target ${expensiveName} --minutes ${values.minutes} --seed ${seed}`);
    const cases = values.cases === undefined ? Number.POSITIVE_INFINITY : Number(values.cases);
    const report = await fuzzExpensive(seed, Number(values.minutes) * 60, cases);
    process.stdout.write(expensiveReportText(report));
    if (report.findings.length > 0) process.exitCode = 1;
  } else if (values.target.includes(requestsName)) {
    const seed = values.seed === undefined ? randomInt(0x7fff_ffff) : Number(values.seed);
    await runRequestTarget(seed, values.minutes, values.cases, !values['no-oracle']);
  } else {
    const seed = values.seed === undefined ? randomInt(0x7fff_ffff) : Number(values.seed);
    const cases = values.cases ?? String(wholeShare);
    console.log(`seed ${seed}: npm run fuzz -- --cases ${cases} --seed ${seed}`);
    const report = await fuzz(Number(cases), seed, !values['no-oracle'], values.target);
    process.stdout.write(reportText(report));
    if (report.findings.length > 0) process.exitCode = 1;
  }
}
