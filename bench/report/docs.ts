// Replaces the generated part of docs/performance.md. Text outside the two marks is written by people and is not
// changed.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

const startMark = '<!-- bench:start (written by `npm run bench -- --write-docs`; do not edit) -->';
const endMark = '<!-- bench:end -->';

const introduction = `# Performance

How the gateway compares, measured by \`npm run bench\` (see \`bench/\`). All targets run interleaved in one run on one machine, each doing the
same work: token lookup among 10,000 users, header rules, impersonation, TLS on both sides. A bound holds when the upper end of the 95 %
bootstrap interval over at least 20 paired rounds is within it; otherwise the run fails.
`;

/**
 * The page with its generated part replaced; a page without marks gets it at its end.
 * @throws Error when the page has only one of the marks
 */
export function replaceGenerated(page: string, generated: string): string {
  const section = `${startMark}\n${generated.trim()}\n${endMark}`;
  const start = page.indexOf('<!-- bench:start');
  const end = page.indexOf(endMark);
  if (start < 0 && end < 0) return `${page.trimEnd()}\n\n${section}\n`;
  if (start < 0 || end < start) throw new Error('docs/performance.md has only one of its two bench marks');
  return page.slice(0, start) + section + page.slice(end + endMark.length);
}

/** Writes docs/performance.md and the chart beside it. The page is created when it does not exist. */
export async function writeDocs(folder: string, generated: string, chart: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, 'performance.md');
  const page = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return introduction;
    throw error;
  });
  await writeFile(path.join(folder, 'performance.svg'), chart);
  await writeFile(
    file,
    replaceGenerated(page, `![CPU, latency and memory by target](performance.svg)\n\n${generated}`),
  );
}
