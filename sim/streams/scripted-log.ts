// The log of a container whose command the simulated shell can run (`echo hello`, `sh -c '…'`): the output of this
// command. The log lines of other containers are made up, see log-lines.ts.
import { Readable, Writable } from 'node:stream';
import type { KubeObject } from '../model/types.ts';
import { createContainers } from './shell/containers.ts';
import { pretence, ProgramNotFound, runProgram } from './shell/shell.ts';

/**
 * The lines that the container's command prints. Undefined when the container has no command, has `stdin: true`, or has
 * a command that cannot be simulated.
 */
export async function scriptedOutput(pod: KubeObject, name: string): Promise<readonly string[] | undefined> {
  const container = createContainers().open(pod, name);
  if (container === undefined || container.argv.length === 0 || container.hasStdin) return undefined;
  const chunks: Buffer[] = [];
  const output = new Writable({ write: (chunk: Buffer, _encoding, done) => done(void chunks.push(chunk)) });
  try {
    const { argv, workingDirectory } = container;
    const frame = { argv, container, workingDirectory, stdin: Readable.from([]), terminal: undefined };
    const { signal } = new AbortController();
    await runProgram({ ...frame, stdout: output, stderr: output, signal, isInstant: true });
  } catch (error) {
    if (error instanceof ProgramNotFound) return undefined;
    throw error;
  }
  const text = Buffer.concat(chunks).toString();
  if (text.includes(pretence) || text.includes(' not simulated')) return undefined;
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
