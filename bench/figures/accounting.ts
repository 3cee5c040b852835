// Reads from /proc how much CPU time and resident memory a whole process tree uses. /proc/PID/stat counts in ticks of
// 10 ms, which is too coarse for a sample of two seconds. So the times of threads are read from schedstat (nanoseconds)
// where the kernel has schedstat.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** One reading of the CPU time that a process tree has used so far. */
export interface CpuReading {
  /**
   * Nanoseconds of CPU time by `pid/tid`, for the threads that exist at the time of the reading; empty when the kernel
   * has no schedstat.
   */
  readonly threads: ReadonlyMap<string, number>;
  /**
   * Seconds of CPU time (user and system) of all processes of the tree, in steps of 10 ms. Threads that have ended are
   * included.
   */
  readonly processSeconds: number;
}

/** Linux uses 100 ticks per second in /proc on every architecture (USER_HZ; man 5 proc, sysconf(_SC_CLK_TCK)). */
const ticksPerSecond = 100;
/**
 * Linux's schedstat loses the time of threads that have ended. When the sum of schedstat is smaller than the time of
 * /proc/PID/stat by more seconds than this, the latter is used, although it is less exact.
 */
const toleratedLossSeconds = 0.05;

/** Process ids of the process and all its descendants that run now; empty when the process does not exist. */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>();
  let exists = false;
  for (const entry of readdirSync('/proc')) {
    const id = Number(entry);
    if (!Number.isInteger(id)) continue;
    const parent = parentOf(id);
    if (parent === undefined) continue;
    if (id === pid) exists = true;
    children.set(parent, [...(children.get(parent) ?? []), id]);
  }
  if (!exists) return [];
  const tree = [pid];
  for (let at = 0; at < tree.length; at += 1) tree.push(...(children.get(tree[at] as number) ?? []));
  return tree;
}

/** Reads the CPU time that a process and all its descendants have used so far. */
export function readCpu(pid: number): CpuReading {
  const threads = new Map<string, number>();
  let ticks = 0;
  for (const id of processTree(pid)) {
    ticks += statTicks(id);
    for (const thread of entries(`/proc/${id}/task`)) {
      const onCpu = text(`/proc/${id}/task/${thread}/schedstat`).split(' ')[0];
      if (onCpu) threads.set(`${id}/${thread}`, Number(onCpu));
    }
  }
  return { threads, processSeconds: ticks / ticksPerSecond };
}

/** CPU seconds (user and system) that a process tree used between two readings. */
export function cpuSecondsBetween(before: CpuReading, after: CpuReading): number {
  const coarse = after.processSeconds - before.processSeconds;
  if (after.threads.size === 0) return coarse;
  let nanoseconds = 0;
  for (const [thread, onCpu] of after.threads) nanoseconds += onCpu - (before.threads.get(thread) ?? 0);
  const fine = nanoseconds / 1e9;
  return coarse - fine > toleratedLossSeconds ? coarse : fine;
}

/**
 * Measures for `seconds` how many CPU cores a process tree uses while no requests are sent to it: for watches, probes
 * and timers.
 */
export async function restingCores(pid: number, seconds: number): Promise<number> {
  const before = readCpu(pid);
  await delay(seconds * 1000);
  return cpuSecondsBetween(before, readCpu(pid)) / seconds;
}

/** Resident memory of a process tree in bytes (VmRSS). */
export function residentBytes(pid: number): number {
  return statusBytes(pid, 'VmRSS');
}

/**
 * Highest resident memory of a process tree in bytes since the last {@link resetPeak} (VmHWM). It is the sum over
 * processes, whose peaks may have been at different times.
 */
export function peakBytes(pid: number): number {
  return statusBytes(pid, 'VmHWM');
}

/** Resets the peak of resident memory to the present value (clear_refs 5 in man 5 proc). */
export function resetPeak(pid: number): void {
  for (const id of processTree(pid)) writeFileSync(`/proc/${id}/clear_refs`, '5');
}

function statusBytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  let kilobytes = 0;
  for (const id of processTree(pid)) {
    const match = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text(`/proc/${id}/status`));
    kilobytes += Number(match?.[1] ?? 0);
  }
  return kilobytes * 1024;
}

/** Returns the fields of /proc/PID/stat after the command name, which may itself contain spaces and parentheses. */
function statFields(pid: number): string[] {
  const line = text(`/proc/${pid}/stat`);
  return line.slice(line.lastIndexOf(')') + 2).split(' ');
}

function parentOf(pid: number): number | undefined {
  const parent = Number(statFields(pid)[1]);
  return Number.isInteger(parent) && parent >= 0 ? parent : undefined;
}

function statTicks(pid: number): number {
  const fields = statFields(pid);
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

function text(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process or thread has ended since it was listed, so its file is gone.
    return '';
  }
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
