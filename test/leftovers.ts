// Ends what an earlier end-to-end run left behind when it was killed: API servers, gateways and browsers that nobody
// would stop any more. Every process of such a run has the lane in its environment, and whoever holds the machine's
// lock knows that no other run is under way.
import { readdirSync, readFileSync } from 'node:fs';

/** The variable that names the lane of a file, in the environment of all processes that it starts. */
export const laneVariable = 'PORTCULLIS_TEST_LANE';

/**
 * Kills the processes whose environment has the lane; returns their pids. Where there is no /proc nothing is found.
 * @param proc folder of the processes, each a folder named by its pid
 */
export function killLeftovers(proc = '/proc', kill: (pid: number) => void = killNow): readonly number[] {
  const left = processesOf(proc).filter((pid) => hasLane(proc, pid));
  for (const pid of left) kill(pid);
  return left;
}

function processesOf(proc: string): readonly number[] {
  try {
    return readdirSync(proc)
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => pid !== process.pid);
  } catch {
    return [];
  }
}

/** Whether a process was started by an end-to-end run; a process of another user, or that has ended, was not. */
function hasLane(proc: string, pid: number): boolean {
  try {
    return readFileSync(`${proc}/${pid}/environ`, 'latin1')
      .split('\0')
      .some((variable) => variable.startsWith(`${laneVariable}=`));
  } catch {
    return false;
  }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
