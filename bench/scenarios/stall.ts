// One member of twenty accepts connections and never answers: what do the users of the other nineteen notice? Somebody
// has to keep asking the stalled member, and to give up and ask again, or the gateway holds nothing for it and the test
// proves nothing.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { createAuthority } from '../../test/controlplane/certificates.ts';
import { openLoad, type LoadGroup } from '../load.ts';
import { configMapPath, kubeconfig } from '../member.ts';
import { startProcess, type BenchProcess } from '../process.ts';
import { startPortcullis } from '../targets/portcullis.ts';
import { askOnce, type RunningTarget } from '../targets/target.ts';
import { errorsOf, interleave, slowRounds, type Bench, type Scenario } from './scenario.ts';

const memberCount = 20;
const answerDelayMs = 50;
const connectionsPerMember = 2;
/** Clients of the last member, stalled or not, and when they give up and come back on a new connection. */
const lastMemberConnections = 8;
const patienceMs = 1_000;
/** 19 members, two connections each and 50 ms an answer: 3,800 requests, so that 38 of them are beyond the p99. */
const sampleSeconds = 5;
const recoveryTimeoutMs = 30_000;

/** Lane names: the same gateway with and without the stalled member. */
export const stallLanes = { stalled: 'portcullis-one-stalled', calm: 'portcullis-none-stalled' } as const;

/** Portcullis over 20 simulated members that answer in 50 ms. */
export const stall: Scenario = {
  names: ['stall'],
  run: async (bench) => {
    const lane = bench.lanes.find(({ target }) => target.name === 'portcullis');
    if (lane === undefined) return;
    const names = Array.from({ length: memberCount }, (_, index) => `m${index + 1}`);
    const { process: members, kubeconfigFile } = await startMembers(bench, names);
    let gateway: RunningTarget | undefined;
    try {
      gateway = await startPortcullis(bench.site, kubeconfigFile, { readyPath: memberPath(names[0] as string) });
      const running = gateway;
      const last = names.at(-1) as string;
      await measure(bench, running, names);
      await interleave(bench, [stallLanes.stalled, stallLanes.calm], slowRounds(bench), async (laneId, round) => {
        if (laneId === stallLanes.stalled) members.write('stall');
        const { values, ...failed } = await measure(bench, running, names);
        if (laneId === stallLanes.stalled) {
          members.write('answer');
          await untilAnswers(bench, running, last);
        }
        bench.record({ scenario: 'stall', round, lane: laneId, values, ...failed });
      });
    } finally {
      await gateway?.stop();
      await members.stop();
    }
  },
};

function memberPath(name: string): string {
  return `/clusters/${name}/proxy${configMapPath}`;
}

/** Members that answer in 50 ms; the last one stalls on the line "stall". */
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
      // Over all requests to the nineteen: a member that shares something with the stalled one is 5 % of them, and
      // shows.
      p99Ms: pooled.p99Ms,
      p50Ms: pooled.p50Ms,
      requests: pooled.requests,
      requestsPerSecond: pooled.requestsPerSecond,
      // For orientation: with 200 requests a member, the worst of nineteen p99 is close to the slowest request of the
      // round.
      worstMemberP99Ms: Math.max(...others.map((group) => group.p99Ms)),
      gaveUp: stalled?.timeouts ?? 0,
      loadCpuShare: result.cpuShare,
    };
    // The last member's own failures are what a stall is; everybody else must not fail.
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
