// Describes the machine and the programs of a measurement. Results of two runs can be compared only with this
// description.
import { execFile } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem, type as systemType } from 'node:os';
import { promisify } from 'node:util';

import { goVersion } from './go-build.ts';
import type { BenchMember } from './member.ts';
import type { Target } from './targets/target.ts';

const run = promisify(execFile);

/** The machine and the versions of all programs, which are printed above every table and stored in the JSON. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly go: string;
  readonly member: string;
  /** Version of each measured program, by its name; `not installed` when it is missing. */
  readonly targets: Readonly<Record<string, string>>;
  /** Git commit of the working tree, with `-dirty` when it has changes. */
  readonly commit: string;
}

/** Collects the versions and the hardware of this machine. A program that is not installed is listed as such. */
export async function describeMachine(member: BenchMember, targets: readonly Target[]): Promise<Machine> {
  const versions: [string, string][] = [];
  for (const target of targets) {
    if (target.name !== 'direct') versions.push([target.name, (await target.version()) ?? 'not installed']);
  }
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: `${systemType()} ${release()}`,
    node: process.version,
    go: await goVersion(),
    member: member.kind === 'stub' ? 'stub (bench/stub)' : `kube-apiserver ${member.version}`,
    targets: Object.fromEntries(versions),
    commit: await commit(),
  };
}

async function commit(): Promise<string> {
  try {
    const { stdout } = await run('git', ['describe', '--always', '--dirty', '--abbrev=10'], {
      cwd: import.meta.dirname,
    });
    return stdout.trim();
  } catch {
    return 'unknown';
  }
}
