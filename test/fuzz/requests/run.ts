// `npm run fuzz -- --target requests`: whole requests over both protocols against a gateway in each of two threads,
// until the time is over. What is found is written into the corpus before anything else, or it would be lost with the
// terminal.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ensureBinaries } from '../../controlplane/build.ts';
import { requestsName } from './campaign.ts';
import type { RequestFinding, RequestReport } from './campaign.ts';
import type { RequestWork } from './worker.ts';

const threads = 2;

export interface RequestOptions {
  readonly seed: number;
  /** Over all threads; Infinity where only the time ends the run. */
  readonly cases: number;
  readonly seconds: number;
  /** Has Go read what members got. */
  readonly compare: boolean;
}

/** Runs it; nothing is written. */
export async function fuzzRequests({ seed, cases, seconds, compare }: RequestOptions): Promise<RequestReport> {
  if (compare) await ensureBinaries(['fuzz-oracle']);
  const reports = await Promise.all(
    Array.from({ length: threads }, (_, index) =>
      inThread({ seed: (seed + index * 0x1000_0000) | 0, cases: Math.ceil(cases / threads), seconds, compare }),
    ),
  );
  return {
    cases: reports.reduce((sum, one) => sum + one.cases, 0),
    compared: reports.reduce((sum, one) => sum + one.compared, 0),
    slowestMs: Math.max(...reports.map(({ slowestMs }) => slowestMs)),
    findings: reports.flatMap(({ findings }) => findings),
  };
}

function inThread(workerData: RequestWork): Promise<RequestReport> {
  return new Promise((resolve, reject) => {
    let report: RequestReport | undefined;
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData });
    worker.on('message', (said: RequestReport) => (report = said));
    worker.on('error', reject);
    worker.on('exit', (code) =>
      report === undefined ? reject(new Error(`a thread ended with ${code} and said nothing`)) : resolve(report),
    );
  });
}

/** Adds the smallest case of each finding to the corpus, with what it showed. */
export function keepFindings(findings: readonly RequestFinding[]): void {
  const file = join(import.meta.dirname, '..', 'corpus', `${requestsName}.jsonl`);
  for (const { what, smallest } of findings)
    appendFileSync(file, `# ${what.replaceAll(/[\r\n]+/g, ' ').slice(0, 200)}\n${JSON.stringify(smallest)}\n`);
}

/** What was done, then what was found. */
export function requestReportText({ cases, compared, slowestMs, findings }: RequestReport): string {
  const found = findings.map(
    ({ what, seed, smallest }) =>
      `${requestsName} (seed ${seed}): ${what}\n  ${JSON.stringify(smallest).slice(0, 4000)}`,
  );
  const summary = `${cases} cases, ${compared} requests read by Go behind the gateway, slowest ${slowestMs.toFixed(0)} ms`;
  return [`${summary}, ${findings.length} findings`, ...found, ''].join('\n');
}
