// Measures how many requests per second the load generator reaches when only the stub API server answers, to show that
// the generator is not what limits the measured proxies. Generator and stub share the machine, so the generator alone
// could send even more.
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';

import { openLoad, type Protocol } from './load.ts';
import { configMapPath, startStubMember } from './member.ts';
import type { Bench } from './scenarios/scenario.ts';
import { impersonatingHeaders } from './site.ts';

const seconds = 2;
const connections = 16;

/** Measures how many requests per second the load generator sends to the stub API server, by HTTP version. */
export async function measureCeiling(bench: Bench): Promise<Readonly<Record<string, number>>> {
  const dir = await mkdtemp(path.join(bench.site.dir, 'ceiling-'));
  const member = await startStubMember(dir, bench.site.live, bench.progress);
  try {
    const result: Partial<Record<Protocol, number>> = {};
    for (const protocol of ['h1', 'h2'] as const) {
      const load = await openLoad(bench.loadBinary, {
        mode: 'requests',
        address: `${member.host}:${member.port}`,
        caFile: member.caFile,
        protocol,
        seconds: bench.options.quick ? 0.3 : seconds,
        warmupSeconds: 0.3,
        groups: [
          {
            name: 'ceiling',
            connections,
            method: 'GET',
            path: configMapPath,
            headers: impersonatingHeaders({ ...bench.site, member }),
          },
        ],
      });
      result[protocol] = (await load.go()).groups[0]?.requestsPerSecond ?? 0;
      await load.close();
    }
    return result;
  } finally {
    await member.stop();
  }
}
