// `npm run bench -- console`: measures in a real Chromium whether the web console keeps its limits, against a gateway
// of its own and simulated clusters. A quick run only shows that every measurement works; its figures mean nothing.
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { missingBrowser } from '../../test/e2e/console/browser.ts';
import { UsageError } from '../options.ts';
import { replaceGenerated } from '../report/docs.ts';
import {
  measureAtRest,
  measureBusyTable,
  measureBytes,
  measureFirstTable,
  measureLongTable,
  type Figure,
  type Shape,
} from './measures.ts';
import { startConsoleBench, type ConsoleBench } from './site.ts';

const whole: Shape = { pods: 20_000, loads: 20, busyMinutes: 10, consoles: 20, restSeconds: 60 };
const quick: Shape = { pods: 600, loads: 2, busyMinutes: 0.1, consoles: 2, restSeconds: 2 };

const measures: Readonly<Record<string, (bench: ConsoleBench, shape: Shape) => Promise<readonly Figure[]>>> = {
  bytes: measureBytes,
  'first-table': measureFirstTable,
  'long-table': measureLongTable,
  'busy-table': measureBusyTable,
  'at-rest': measureAtRest,
};

/**
 * Runs `npm run bench -- console`.
 * @returns the exit code: 1 when a figure exceeds its limit, otherwise 0
 * @throws UsageError for options that the benchmark does not know or cannot combine
 */
export async function benchConsole(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      minutes: { type: 'string' },
      'write-docs': { type: 'boolean', default: false },
    },
  });
  const { only, minutes } = values;
  if (only !== undefined && measures[only] === undefined)
    throw new UsageError(`--only ${only}: one of ${Object.keys(measures).join(', ')}`);
  if (minutes !== undefined && !(Number(minutes) > 0)) throw new UsageError(`--minutes ${minutes}: a number above 0`);
  if (values['write-docs'] && (values.quick || only !== undefined || minutes !== undefined))
    throw new UsageError('--write-docs publishes a whole run: leave out --quick, --only and --minutes');
  const missing = missingBrowser();
  if (missing !== undefined) throw new UsageError(`the console ${missing}`);
  const shape = { ...(values.quick ? quick : whole), ...(minutes !== undefined && { busyMinutes: Number(minutes) }) };
  const figures = await measure(shape, only);
  const report = markdown(figures, values.quick);
  process.stdout.write(`${report}\n`);
  if (values['write-docs']) publish(report);
  return values.quick || figures.every(holds) ? 0 : 1;
}

async function measure(shape: Shape, only: string | undefined): Promise<readonly Figure[]> {
  const bench = await startConsoleBench(shape.pods);
  try {
    const figures: Figure[] = [];
    for (const [name, run] of Object.entries(measures)) {
      if (only !== undefined && name !== only) continue;
      process.stderr.write(`bench: console ${name}\n`);
      figures.push(...(await run(bench, shape)));
    }
    return figures;
  } finally {
    await bench.close();
  }
}

function holds({ value, bound }: Figure): boolean {
  return bound === undefined || value <= bound;
}

function markdown(figures: readonly Figure[], isQuick: boolean): string {
  const round = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 3 });
  const rows = figures.map((figure) => {
    const { says, value, unit, bound } = figure;
    const words = bound === undefined ? '' : holds(figure) ? 'holds' : '**fails**';
    return `| ${says} | ${round(value)} ${unit} | ${bound ?? ''} | ${isQuick ? '' : words} |`;
  });
  const machine = `${cpus()[0]?.model.trim() ?? 'unknown'}, ${availableParallelism()} CPUs, Node ${process.version}`;
  return [
    `${new Date().toISOString().slice(0, 10)}, ${machine}${isQuick ? '; a quick run, whose figures mean nothing' : ''}.`,
    '',
    '| What | Measured | Bound | |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function publish(report: string): void {
  const file = join(import.meta.dirname, '../../docs/performance.md');
  writeFileSync(file, replaceGenerated(readFileSync(file, 'utf8'), report, 'console'));
}
