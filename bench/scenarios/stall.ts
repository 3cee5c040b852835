// Measures whether users of 19 clusters notice when the 20th accepts connections but never answers. Easy to get wrong:
// some client must keep sending requests to the stalled cluster, give up and try again. Otherwise no requests wait for
// that cluster in the gateway, and the test proves nothing.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { createAuthority } from '../../test/pretend/certificates.ts';
import { openLoad, type LoadGroup } from '../load.ts';
import { configMapPath, kubeconfig } from '../member.ts';
import { startProcess, type BenchProcess } from '../process.ts';
import { startPortcullis } from '../targets/portcullis.ts';
import { askOnce, type RunningTarget } from '../targets/target.ts';
import { errorsOf, interleave, slowRounds, type Bench, type Scenario } from './scenario.ts';

const memberCount = 20;
const answerDelayMs = 50;
const connectionsPerMember = 2;
/**
 * Connections to the last cluster, which is stalled in half of the samples. A client gives up after `patienceMs`
 * milliseconds and tries again on a new connection.
 */
const lastMemberConnections = 8;
const patienceMs = 1_000;
/**
 * Seconds of a sample. In 5 s, 19 clusters with two connections each and 50 ms per answer give 3,800 requests, so that
 * 38 of them are above the p99.
 */
const sampleSeconds = 5;
const recoveryTimeoutMs = 30_000;

/** Names of the two measured cases: one cluster is stalled, or none. */
export const stallContenders = { stalled: 'portcullis-one-stalled', calm: 'portcullis-none-stalled' } as const;

/** The scenario `stall`: Portcullis in front of 20 simulated API servers that answer after 50 ms. */
export const stall: Scenario = {
  names: ['stall'],
  run: async (bench) => {
    const contender = bench.contenders.find(({ target }) => target.name === 'portcullis');
    if (contender === undefined) return;
    const names = Array.from({ length: memberCount }, (_, index) => `m${index + 1}`);
    const { process: members, kubeconfigFile } = await startMembers(bench, names);
    let gateway: RunningTarget | undefined;
    try {
      gateway = await startPortcullis(bench.site, kubeconfigFile, { readyPath: memberPath(names[0] as string) });
      const running = gateway;
      const last = names.at(-1) as string;
      await measure(bench, running, names);
      await interleave(
        bench,
        [stallContenders.stalled, stallContenders.calm],
        slowRounds(bench),
        async (laneId, round) => {
          if (laneId === stallContenders.stalled) members.write('stall');
          const { values, ...failed } = await measure(bench, running, names);
          if (laneId === stallContenders.stalled) {
            members.write('answer');
            await untilAnswers(bench, running, last);
          }
          bench.record({ scenario: 'stall', round, contender: laneId, values, ...failed });
        },
      );
    } finally {
      await gateway?.stop();
      await members.stop();
    }
  },
};

function memberPath(name: string): string {
  return `/clusters/${name}/proxy${configMapPath}`;
}

/** Starts API servers that answer after 50 ms. The last one stops answering after the input line "stall". */
export async function startMembers(
  bench: Bench,
  names: readonly string[],
): Promise<{ readonly process: BenchProcess; readonly kubeconfigFile: string }> {
  const { dir } = bench.site;
  const authority = await createAuthority('stall members');
  const serving = await authority.issue({ commonName: 'member', usage: 'server', ipAddresses: ['127.0.0.1'] });
  const caFile = path.join(dir, 'stall-ca.crt');
  await writeFile(caFile, authority.certPem);
  const token = randomBytes(16).toString('hex');
  const settings = {
    count: names.length,
    delayMs: answerDelayMs,
    token,
    certPem: serving.certPem,
    keyPem: serving.keyPem,
  };
  const settingsFile = path.join(dir, 'stall-members.json');
  await writeFile(settingsFile, JSON.stringify(settings), { mode: 0o600 });
  const child = await startProcess(
    {
      name: 'stall members',
      command: process.execPath,
      args: [path.join(import.meta.dirname, 'stall-members.ts'), settingsFile],
      firstLine: true,
    },
    bench.site.live,
  );
  const ports = JSON.parse(child.firstLine) as readonly number[];
  const kubeconfigFile = path.join(dir, 'stall.kubeconfig');
  const members = names.map((name, index) => ({
    name,
    host: '127.0.0.1',
    port: ports[index] as number,
    token,
    caFile,
  }));
  await writeFile(kubeconfigFile, kubeconfig(members), { mode: 0o600 });
  return { process: child, kubeconfigFile };
}

async function measure(bench: Bench, gateway: RunningTarget, names: readonly string[]) {
  const toMember = (name: string, connections: number): LoadGroup => ({
    name,
    connections,
    method: 'GET',
    path: memberPath(name),
    headers: gateway.headers,
  });
  const last = { ...toMember(names.at(-1) as string, lastMemberConnections), timeoutMs: patienceMs };
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: gateway.address,
    caFile: gateway.caFile,
    protocol: 'h1',
    seconds: bench.options.quick ? 0.5 : sampleSeconds,
    warmupSeconds: 0.3,
    groups: [...names.slice(0, -1).map((name) => ({ ...toMember(name, connectionsPerMember), pooled: true })), last],
  });
  try {
    const result = await load.go();
    const others = result.groups.slice(0, -1);
    const stalled = result.groups.at(-1);
    const { pooled } = result;
    if (pooled === undefined) throw new Error('the load generator gave no pooled result');
    const values = {
      // The p99 of all requests to the other 19 clusters. Each of these clusters has 5 % of the requests, so a single
      // one that suffers from the stalled cluster would raise this value.
      p99Ms: pooled.p99Ms,
      p50Ms: pooled.p50Ms,
      requests: pooled.requests,
      requestsPerSecond: pooled.requestsPerSecond,
      // This value is only shown and has no limit: with 200 requests per cluster, the worst p99 of 19 clusters is close
      // to the slowest request of the round.
      worstMemberP99Ms: Math.max(...others.map((group) => group.p99Ms)),
      gaveUp: stalled?.timeouts ?? 0,
      loadCpuShare: result.cpuShare,
    };
    // Requests to the stalled cluster are expected to fail, so only errors of the other clusters count.
    return { values, ...errorsOf({ ...result, groups: others }) };
  } finally {
    await load.close();
  }
}

async function untilAnswers(bench: Bench, gateway: RunningTarget, name: string): Promise<void> {
  const giveUpAtMs = Date.now() + recoveryTimeoutMs;
  for (;;) {
    const answer = await askOnce(gateway, 'GET', memberPath(name), gateway.headers).catch(() => undefined);
    if (answer?.status === 200) return;
    if (Date.now() > giveUpAtMs) throw new Error(`${name} is not reachable again 30 s after its stall ended`);
    bench.progress(`waiting for ${name} to be reachable again`);
    await delay(500);
  }
}
