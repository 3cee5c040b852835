// Shows the progress of a run on standard error. On a terminal, the running clusters and a progress bar are redrawn at
// the bottom, and lines about failures and finished clusters appear above them. Otherwise one line is printed for each
// change.
import { printable } from '../terminal/failure.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ClusterReport } from './cluster/cluster-outcomes.ts';
import { summaryOf } from './run-report.ts';
import { shortened } from '../../lib/text/shortened.ts';

/** The progress display of a run. */
export interface Progress {
  /**
   * Reports what happened to an object. On a terminal the text is shown as the cluster's current step, otherwise as a
   * line.
   */
  step(report: ClusterReport, text: string): void;
  /** Prints a line that the person must read, such as the failure of an object. */
  line(text: string): void;
  /** Shows what a running cluster waits for; shown on a terminal only. */
  state(report: ClusterReport, text: string): void;
  begin(report: ClusterReport): void;
  end(report: ClusterReport): void;
  /** Removes the lines of the display from the terminal. */
  close(): void;
}

/** Longest name of a cluster, in columns, that is shown in full; longer names are cut. */
const nameWidth = 24;
const barWidth = 20;
/** Maximum number of lines for running clusters. If more clusters are running, only their number is shown. */
const mostLines = 12;
const redrawMs = 100;

/** Makes the progress display of a run. @param reports the reports of all clusters of the run */
export function makeProgress(terminal: Terminal, reports: readonly ClusterReport[]): Progress {
  return terminal.columns?.() === undefined ? plainLines(terminal) : liveLines(terminal, reports);
}

function plainLines(terminal: Terminal): Progress {
  const line = (text: string): void => terminal.note(`${printable(text)}\n`);
  return {
    step: ({ cluster }, text) => line(`${cluster.name}: ${text}`),
    line,
    state: () => {},
    begin: () => {},
    end: (report) => line(`${report.cluster.name}: ${summaryOf(report)}`),
    close: () => {},
  };
}

function liveLines(terminal: Terminal, reports: readonly ClusterReport[]): Progress {
  const running = new Map<ClusterReport, string>();
  let drawn = 0;
  let timer: NodeJS.Timeout | undefined;
  const width = (): number => Math.max(20, (terminal.columns?.() ?? 80) - 1);
  const erase = (): string => (drawn === 0 ? '' : `\u001b[${drawn}A\r\u001b[J`);
  const draw = (above: string): void => {
    clearTimeout(timer);
    timer = undefined;
    const shown = [...running].slice(0, mostLines);
    const lines = shown.map(([{ cluster }, text]) => `${shortened(cluster.name, nameWidth).padEnd(nameWidth)} ${text}`);
    const hidden = running.size - shown.length;
    if (hidden > 0) lines.push(`and ${hidden} more`);
    lines.push(barOver(reports));
    terminal.note(`${erase()}${above}${lines.map((line) => `${shortened(printable(line), width())}\n`).join('')}`);
    drawn = lines.length;
  };
  const later = (): void => void (timer ??= setTimeout(() => draw(''), redrawMs).unref());
  const line = (text: string): void => draw(wrap(printable(text), width()));
  const state = (report: ClusterReport, text: string): void => {
    running.set(report, text);
    later();
  };
  return {
    step: state,
    line,
    state,
    begin: (report) => state(report, 'asking what it serves'),
    end(report) {
      running.delete(report);
      line(`${report.cluster.name}: ${summaryOf(report)}`);
    },
    close() {
      clearTimeout(timer);
      terminal.note(erase());
      drawn = 0;
    },
  };
}

function barOver(reports: readonly ClusterReport[]): string {
  const over = reports.filter(({ status }) => status !== 'not started' && status !== 'running').length;
  const failed = reports.filter(({ status }) => status === 'failed').length;
  const filled = Math.floor((over / reports.length) * barWidth);
  const bar = '#'.repeat(filled) + '-'.repeat(barWidth - filled);
  return `[${bar}] ${over} of ${reports.length} clusters${failed === 0 ? '' : `, ${failed} failed`}`;
}

/**
 * Breaks a text into lines of at most `width` columns, between words where possible. All lines but the first are
 * indented.
 */
export function wrap(text: string, width: number): string {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const at = space > width / 3 ? space : width;
    lines.push(rest.slice(0, at));
    rest = `  ${rest.slice(at).trimStart()}`;
  }
  return `${[...lines, rest].join('\n')}\n`;
}
