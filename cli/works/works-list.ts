// `portcullis works list`: prints the ManifestWorks of all or some clusters, one line each, with their states.
import { humanDuration } from '../../lib/text/human-duration.ts';
import { printRows } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { HubWorks } from './hub-works.ts';
import { summaryOf, type WorkSummary } from './work-state.ts';
import { shortened } from '../../lib/text/shortened.ts';

/**
 * Width in columns to which a line is cut. The message keeps at least `shortestMessage` columns, even if the line is
 * then longer.
 */
const lineWidth = 80;
const shortestMessage = 24;

export interface ListFlags {
  readonly clusters?: string;
  readonly output: 'table' | 'wide' | 'json';
}

/** Prints the ManifestWorks as a table or JSON. @throws Failure when the hub refuses or cannot be reached */
export async function listWorks(hub: HubWorks, flags: ListFlags, terminal: Terminal): Promise<void> {
  const clusters = flags.clusters?.split(',').map((name) => name.trim());
  const works = (await hub.list(clusters)).map(summaryOf);
  if (flags.output === 'json') {
    terminal.print(`${JSON.stringify({ items: works }, null, 4)}\n`);
    return;
  }
  if (works.length === 0) terminal.note('No works found\n');
  const ageOf = ({ created }: WorkSummary): string =>
    created === '' ? '' : humanDuration(terminal.nowMs() - Date.parse(created));
  terminal.print(flags.output === 'wide' ? wideTable(works, ageOf) : shortTable(works, ageOf));
}

type AgeOf = (work: WorkSummary) => string;

function wideTable(works: readonly WorkSummary[], ageOf: AgeOf): string {
  return printRows(
    ['cluster', 'name', 'state', 'applied', 'available', 'progressing', 'degraded', 'age', 'message'],
    works.map((work) => {
      const { cluster, name, state, applied, available, progressing, degraded, message } = work;
      return [cluster, name, state, applied, available, progressing, degraded, ageOf(work), message];
    }),
  );
}

function shortTable(works: readonly WorkSummary[], ageOf: AgeOf): string {
  const rows = works.map((work) => [work.cluster, work.name, work.state, ageOf(work)]);
  const headings = ['cluster', 'name', 'state', 'age'];
  const widths = headings.map(
    (heading, index) => Math.max(heading.length, ...rows.map((row) => row[index]!.length)) + 3,
  );
  const room = Math.max(shortestMessage, lineWidth - widths.reduce((sum, width) => sum + width, 0));
  return printRows(
    [...headings, 'message'],
    rows.map((row, index) => [...row, shortened(works[index]!.message.replaceAll(/\s+/g, ' ').trim(), room)]),
  );
}
