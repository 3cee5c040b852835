// `node bench/figures/profile.ts [h1|h2] [seconds]`: runs Portcullis in front of the stub API server under V8's CPU
// profiler and prints which functions and files take the time. V8 writes the profile only when the process exits by
// itself, so the gateway must be asked to stop and not be killed.
import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

import { cpuSecondsBetween, readCpu } from './accounting.ts';
import { buildGo } from '../go-build.ts';
import { openLoad, type Protocol } from '../load.ts';
import { configMapPath, startStubMember } from '../member.ts';
import { align } from '../report/report.ts';
import { createSite } from '../site.ts';
import { startPortcullis } from '../targets/portcullis.ts';

const connections = 16;
const warmupSeconds = 5;
const samplingUs = 200;
const shownRows = 40;

/** The fields of a .cpuprofile file that are read (Profiler.Profile of the Chrome DevTools protocol). */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  /** Microseconds on the monotonic clock. The first entry of `timeDeltas` is relative to this time. */
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/**
 * Returns microseconds of CPU time by function and by file, between two times on the monotonic clock. A function's time
 * excludes the functions that it calls, and idle time.
 */
export function selfTimes(
  profile: CpuProfile,
  fromUs: number,
  toUs: number,
): { readonly functions: Map<string, number>; readonly files: Map<string, number> } {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const functions = new Map<string, number>();
  const files = new Map<string, number>();
  const add = (map: Map<string, number>, key: string, us: number) => map.set(key, (map.get(key) ?? 0) + us);
  let atUs = profile.startTime;
  profile.samples.forEach((id, index) => {
    const us = profile.timeDeltas[index] ?? 0;
    atUs += us;
    const frame = frames.get(id);
    if (atUs < fromUs || atUs > toUs || frame === undefined || frame.functionName === '(idle)') return;
    const file = frame.url === '' ? '(native)' : frame.url.split('/').slice(-3).join('/');
    add(functions, `${frame.functionName || '(anonymous)'} ${file}:${frame.lineNumber + 1}`, us);
    add(files, file, us);
  });
  return { functions, files };
}

function table(times: ReadonlyMap<string, number>, requests: number): string {
  const total = [...times.values()].reduce((sum, us) => sum + us, 0);
  const rows = [...times]
    .sort((a, b) => b[1] - a[1])
    .slice(0, shownRows)
    .map(([name, us]) => [name, `${((us / total) * 100).toFixed(1)} %`, (us / requests).toFixed(2)]);
  return align([['self time', 'share', 'µs/request'], ...rows]);
}

async function run(protocol: Protocol, seconds: number): Promise<void> {
  const progress = (line: string) => process.stderr.write(`profile: ${line}\n`);
  const loadBinary = await buildGo('load', progress);
  const site = await createSite((dir, live) => startStubMember(dir, live, progress));
  try {
    const dir = path.join(import.meta.dirname, '..', 'out', `profile-${protocol}`);
    await mkdir(dir, { recursive: true });
    const nodeArgs = ['--cpu-prof', `--cpu-prof-dir=${dir}`, `--cpu-prof-interval=${samplingUs}`];
    const gateway = await startPortcullis(site, site.member.kubeconfigFile, { nodeArgs });
    const load = await openLoad(loadBinary, {
      mode: 'requests',
      address: gateway.address,
      caFile: gateway.caFile,
      protocol,
      seconds,
      warmupSeconds,
      groups: [
        { name: 'get', connections, method: 'GET', path: gateway.prefix + configMapPath, headers: gateway.headers },
      ],
    });
    const before = readCpu(gateway.pid ?? 0);
    const fromUs = monotonicUs();
    const result = await load.go();
    const toUs = monotonicUs();
    const cpuUs = cpuSecondsBetween(before, readCpu(gateway.pid ?? 0)) * 1e6;
    await load.close();
    await gateway.stop();
    const requests = result.groups[0]?.requests ?? 0;
    const [file] = (await readdir(dir))
      .filter((name) => name.endsWith('.cpuprofile'))
      .sort()
      .slice(-1);
    if (file === undefined) throw new Error(`no profile in ${dir}: did the gateway exit by itself?`);
    const profile = JSON.parse(await readFile(path.join(dir, file), 'utf8')) as CpuProfile;
    const { functions, files } = selfTimes(profile, fromUs, toUs);
    console.log(
      `${protocol}: ${requests} requests, ${(cpuUs / requests).toFixed(0)} µs CPU each while profiled; ${path.join(dir, file)}`,
    );
    console.log(`${table(files, requests)}\n\n${table(functions, requests)}`);
  } finally {
    await site.close();
  }
}

function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

if (import.meta.main) {
  const [protocol = 'h1', seconds = '10'] = process.argv.slice(2);
  await run(protocol === 'h2' ? 'h2' : 'h1', Number(seconds));
}
