// Go's own template engine with sprig, as a process to which templates are sent.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ensureBinaries } from '../../controlplane/build.ts';
import type { TemplateCase } from './grammar.ts';

/** The result of rendering a template in Go. */
export interface GoRendering {
  /** The stage that failed; '' when none did. */
  readonly failed: 'parse' | 'execute' | 'data' | '';
  readonly message: string;
  readonly output: Buffer;
}

export interface TemplateOracle {
  /** Renders all cases. The results are in the same order. */
  ask(cases: readonly TemplateCase[]): Promise<readonly GoRendering[]>;
  close(): void;
}

/**
 * Starts the process, and builds its program first when that is missing.
 * @throws Error (rejects) when Go is not installed
 */
export async function startTemplateOracle(): Promise<TemplateOracle> {
  const binary = (await ensureBinaries(['template-oracle']))['template-oracle']!;
  const child = spawn(binary, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting: ((line: string) => void)[] = [];
  createInterface(child.stdout).on('line', (line) => waiting.shift()?.(line));
  const askOne = (each: TemplateCase): Promise<GoRendering> =>
    new Promise((resolve) => {
      waiting.push((line) => {
        const { failed, message, output } = JSON.parse(line) as Record<'failed' | 'message' | 'output', string>;
        resolve({ failed: failed as GoRendering['failed'], message, output: Buffer.from(output ?? '', 'base64') });
      });
      const template = Buffer.from(each.template).toString('base64');
      child.stdin.write(`${JSON.stringify({ template, data: each.data })}\n`);
    });
  return { ask: (cases) => Promise.all(cases.map(askOne)), close: () => child.kill() };
}
