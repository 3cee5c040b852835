// The log of a container whose command the simulated shell can run (`echo hello`, `sh -c '…'`): the output of this
// command. The log lines of other containers are made up, see log-lines.ts.
import { Readable, Writable } from 'node:stream';
import type { KubeObject } from '../model/types.ts';
import { createContainers } from './shell/containers.ts';
import { ProgramNotFound } from './shell/process.ts';
import { runProgram } from './shell/shell.ts';

/** When the output is longer, the command is interrupted and the rest is dropped. */
const outputLimitBytes = 1024 * 1024;

/**
 * The lines that the container's command prints, up to 1 MiB. Undefined when the container has no command, has `stdin:
 * true`, or has a command that cannot be simulated.
 */
export async function scriptedOutput(pod: KubeObject, name: string): Promise<readonly string[] | undefined> {
  const container = createContainers({ now: () => 0 }).open(pod, name);
  if (container === undefined || container.argv.length === 0 || container.hasStdin) return undefined;
  const interruption = new AbortController();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > outputLimitBytes) interruption.abort();
      else chunks.push(chunk);
      done();
    },
  });
  try {
    const { argv, environment, workingDirectory } = container;
    const frame = { argv, container, environment, workingDirectory, stdin: Readable.from([]), terminal: undefined };
    const { signal } = interruption;
    await runProgram({ ...frame, stdout: output, stderr: output, signal, isInstant: true });
  } catch (error) {
    if (error instanceof ProgramNotFound) return undefined;
    throw error;
  }
  const text = Buffer.concat(chunks).toString();
  if (text.includes(' not simulated')) return undefined;
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
