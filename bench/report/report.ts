// Turns the samples of a run into tables. The tables show medians with intervals, and how much CPU time the load
// generator used, because a busy generator makes all measured programs look alike.
import type { CheckResult } from '../figures/checks.ts';
import type { Machine } from '../machine.ts';
import { quickClusters } from '../options.ts';
import { columns, titles } from './report-tables.ts';
import type { Contender, Sample } from '../scenarios/scenario.ts';
import { estimateMedian, median, type Estimate } from '../figures/statistics.ts';

/** The results of a run, from which the tables are made. They are also written to a file as JSON. */
export interface Report {
  readonly machine: Machine;
  readonly command: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly rounds: number;
  readonly seed: number;
  readonly quick: boolean;
  /** Requests per second that the load generator reaches when it asks the stub API server directly, by HTTP version. */
  readonly generatorCeiling: Readonly<Record<string, number>>;
  readonly notInstalled: readonly string[];
  readonly checks: readonly CheckResult[];
  readonly samples: readonly Sample[];
}

/** The table of a scenario as rows of text, with the headings as the first row; empty when the scenario was not run. */
export function scenarioTable(report: Report, scenario: string, contenders: readonly Contender[]): string[][] {
  const samples = report.samples.filter((sample) => sample.scenario === scenario);
  const shown = (columns[scenario] ?? []).filter(({ value }) => samples.some((sample) => value in sample.values));
  const ids = [...new Set(samples.map((sample) => sample.contender))].sort(
    (a, b) => rank(a, contenders) - rank(b, contenders),
  );
  if (ids.length === 0) return [];
  const rows = ids.map((id) => {
    const own = samples.filter((sample) => sample.contender === id);
    const cells = shown.map(({ value, digits }) => {
      const values = own.flatMap((sample) => sample.values[value] ?? []);
      return values.length === 0 ? '–' : withInterval(estimateMedian(values, { seed: report.seed }), digits);
    });
    const errors = own.reduce((sum, sample) => sum + sample.errors, 0);
    return [title(id, contenders), ...cells, String(own.length), String(errors)];
  });
  return [['target', ...shown.map(({ heading }) => heading), 'rounds', 'errors'], ...rows];
}

/** The whole report as text for a terminal. */
export function reportText(report: Report, contenders: readonly Contender[]): string {
  const parts = [machineLines(report).join('\n')];
  for (const scenario of Object.keys(columns)) {
    const table = scenarioTable(report, scenario, contenders);
    if (table.length > 0) parts.push(`${titles[scenario]}\n${align(table)}`);
  }
  if (report.checks.length > 0) parts.push(align(checkTable(report)));
  return `${parts.join('\n\n')}\n`;
}

/** The whole report as Markdown, for docs/performance.md. */
export function reportMarkdown(report: Report, contenders: readonly Contender[]): string {
  const parts = [
    machineLines(report)
      .map((line) => `- ${line}`)
      .join('\n'),
  ];
  if (report.checks.length > 0) parts.push(`### Checks\n\n${markdown(checkTable(report))}`);
  for (const scenario of Object.keys(columns)) {
    const table = scenarioTable(report, scenario, contenders);
    if (table.length > 0) parts.push(`### ${titles[scenario]}\n\n${markdown(table)}`);
  }
  return `${parts.join('\n\n')}\n`;
}

/** Returns the lines of the report that describe the machine, the versions and the load generator. */
export function machineLines(report: Report): string[] {
  const { machine } = report;
  const versions = Object.entries(machine.targets).map(([name, version]) => `${name}: ${version}`);
  const shares = report.samples.flatMap((sample) => sample.values['loadCpuShare'] ?? []);
  const perRequest = report.samples.flatMap((sample) => sample.values['loadCpuUs'] ?? []);
  const ceilings = Object.entries(report.generatorCeiling).map(([name, rps]) => `${rps.toFixed(0)} req/s over ${name}`);
  const lines = [
    `machine: ${machine.cores} × ${machine.cpu}, ${machine.memoryGb} GB, ${machine.system}; loopback, nothing pinned`,
    `member: ${machine.member}; ${versions.join('; ')}`,
    `run: \`${report.command}\` at commit ${machine.commit}, ${report.startedAt.slice(0, 10)}, ` +
      `${report.rounds} interleaved rounds, ${Math.round(report.seconds / 60)} min; medians with 95 % bootstrap intervals`,
  ];
  if (report.quick) {
    lines.push(
      'quick: samples of a fraction of a second, which show that everything answers and are no figures; ' +
        `where a table speaks of more than ${quickClusters} clusters, ${quickClusters} are registered`,
    );
  }
  if (shares.length > 0) {
    const cost = perRequest.length > 0 ? `, ${median(perRequest).toFixed(0)} µs per request` : '';
    lines.push(
      `load generator: median ${percent(median(shares))}, at most ${percent(Math.max(...shares))} of the machine's CPU${cost}; ` +
        `alone against the stub it reaches ${ceilings.join(' and ')} at 16 connections`,
    );
  }
  return lines;
}

function checkTable(report: Report): string[][] {
  const rows = report.checks.map(({ check, estimate, outcome }) => [
    check.scenario,
    check.says,
    estimate === undefined ? '–' : withInterval(estimate, check.unit === '×' ? 2 : 1),
    `≤ ${check.bound} ${check.unit}`,
    outcome,
  ]);
  return [['scenario', 'check', 'measured', 'bound', 'outcome'], ...rows];
}

function withInterval({ point, low, high }: Estimate, digits: number): string {
  const [a, b, c] = [point, low, high].map((value) => value.toFixed(digits));
  return `${a} (${b}–${c})`;
}

function title(id: string, contenders: readonly Contender[]): string {
  const contender = contenders.find((candidate) => candidate.id === id);
  return contender === undefined ? id.replaceAll('-', ' ') : `${contender.target.title} · ${contender.protocol}`;
}

function rank(id: string, contenders: readonly Contender[]): number {
  return contenders.findIndex((contender) => contender.id === id);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

/** Aligns columns of text: the first column to the left, the others to the right. */
export function align(table: readonly (readonly string[])[]): string {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => (row[column] ?? '').length)));
  return table
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function markdown(table: readonly (readonly string[])[]): string {
  const [head = [], ...rows] = table;
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = `|${head.map((_, column) => (column === 0 ? '---' : '---:')).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
