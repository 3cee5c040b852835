// Replaces the generated parts of docs/performance.md. Each generated part stands between two HTML comments; text
// outside these marks is written by people and is not changed.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The command that writes each generated part of the page, by the name in the part's marks. */
const writers = { bench: 'npm run bench -- --write-docs', console: 'npm run bench -- console --write-docs' } as const;

const introduction = `# Performance

How the gateway compares, measured by \`npm run bench\` (see \`bench/\`). All targets run interleaved in one run on one machine, each doing the
same work: token lookup among 10,000 users, header rules, impersonation, TLS on both sides. A bound holds when the upper end of the 95 %
bootstrap interval over at least 20 paired rounds is within it; otherwise the run fails.
`;

/**
 * Returns the page with a generated part replaced; a page without the marks of this part gets the part at its end.
 * @throws Error when the page has only one of the two marks
 */
export function replaceGenerated(page: string, generated: string, name: keyof typeof writers = 'bench'): string {
  const endMark = `<!-- ${name}:end -->`;
  const section = `<!-- ${name}:start (written by \`${writers[name]}\`; do not edit) -->\n${generated.trim()}\n${endMark}`;
  const start = page.indexOf(`<!-- ${name}:start`);
  const end = page.indexOf(endMark);
  if (start < 0 && end < 0) return `${page.trimEnd()}\n\n${section}\n`;
  if (start < 0 || end < start) throw new Error(`docs/performance.md has only one of its two ${name} marks`);
  return page.slice(0, start) + section + page.slice(end + endMark.length);
}

/** Writes docs/performance.md and the chart (performance.svg) beside it. The page is created when it does not exist. */
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
