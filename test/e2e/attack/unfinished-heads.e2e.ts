// As many strangers as one address may have connections, over both protocols and all ways at once, against a gateway of
// 1 GiB; a user asks meanwhile. The strangers run in a thread of their own, or the user would wait for them instead of
// for the gateway.
// Landing tier: nobody fills the memory without logging in.
// Runs alone: it measures memory and CPU of a gateway that thousands of clients attack.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

import { makeTestAuthority } from '../../pretend/certificates.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../../site/http2-client.ts';
import { startMember } from '../../site/member.ts';
import { exchange, requestBytes } from '../../site/raw-client.ts';
import type { Endpoint } from '../../site/raw-client.ts';
import { kubeconfigText } from '../../site/site.ts';
import { openStrangers } from '../../attack/http/strangers.ts';
import type { StrangerWay } from '../../attack/http/strangers.ts';
import { figure } from '../../faults/scale.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const attack: readonly (readonly [way: StrangerWay, count: number])[] = [
  ['TLS unfinished hello', 500],
  ['HTTP/1.1 slow body', 500],
  ['HTTP/2 slow bodies', 200],
  ['HTTP/1.1 unfinished head', 1500],
  ['HTTP/2 unfinished block', 1500],
  ['HTTP/1.1 refused head', 500],
  ['HTTP/1.1 body of a refused request', 300],
];
const count = attack.reduce((sum, [, each]) => sum + each, 0);
/** What the process was given. Of it heads may have 116 MiB; measured were 406 to 455 MiB in all. */
const mostRssMiB = 1024;

async function attackFrom({ endpoint, localAddress }: { endpoint: Endpoint; localAddress: string }): Promise<void> {
  const text: string[] = [];
  for (const [way, each] of attack) {
    const strangers = await openStrangers(endpoint, way, each, localAddress);
    text.push(`${way}: ${each}, of them ended ${strangers.ended()} ${JSON.stringify([...strangers.statuses()])}`);
  }
  parentPort!.postMessage(text.join('; '), []);
}

function processFigures(pid: number): { readonly rssMiB: number; readonly cpuMs: number } {
  const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return { rssMiB: Number(rss[1]) / 1024, cpuMs: (Number(stat[11]) + Number(stat[12])) * 10 };
}

if (!isMainThread) await attackFrom(workerData as { endpoint: Endpoint; localAddress: string });
else {
  test(`${count} strangers of one address at the limits, over both protocols: a user of another is served all the while, and memory stays below its limit (ATT-41)`, async (t) => {
    const folder = tempDir('strangers');
    const member = await startMember(await makeTestAuthority(), () => undefined);
    const kubeconfig = join(folder, 'kubeconfig.yaml');
    const server = `https://127.0.0.1:${member.port}`;
    writeFileSync(kubeconfig, kubeconfigText([{ name: 'm1', server, ca: member.ca, token: 'member-credential' }]));
    await using gateway = await startGatewayProcess({
      kubeconfigs: [kubeconfig],
      users: [{ token: 'alice-token', name: 'alice' }],
      args: ['--max-memory', '1Gi'],
    });
    const endpoint = { port: gateway.port, ca: gateway.caPem };
    const before = processFigures(gateway.pid);
    const worker = new Worker(new URL(import.meta.url), { workerData: { endpoint, localAddress: '127.0.0.2' } });
    t.after(async () => {
      await worker.terminate();
      member.close();
    });
    const reports: string[] = [];
    worker.once('message', (report: string) => reports.push(report));
    let peakMiB = 0;
    let slowestMs = 0;
    const answers: number[] = [];
    const ask = async (): Promise<void> => {
      const fromMs = performance.now();
      answers.push(
        (await exchange(endpoint, requestBytes('GET /version', ['Authorization: Bearer alice-token']))).status,
      );
      const session = await openHttp2(endpoint);
      const list = http2Headers('GET', '/version', ['authorization', 'Bearer alice-token']);
      answers.push((await http2Exchange(session, list)).status);
      session.destroy();
      slowestMs = Math.max(slowestMs, performance.now() - fromMs);
      peakMiB = Math.max(peakMiB, processFigures(gateway.pid).rssMiB);
    };
    while (reports.length === 0) await ask();
    const after = processFigures(gateway.pid);
    for (let i = 0; i < 10; i++) await ask();
    const each = { rss: ((peakMiB - before.rssMiB) * 1024) / count, cpu: (after.cpuMs - before.cpuMs) / count };
    figure(
      'ATT-41',
      `${count} strangers: RSS ${Math.round(before.rssMiB)} -> at most ${Math.round(peakMiB)} MiB (${Math.round(each.rss)} KiB each), ` +
        `CPU ${each.cpu.toFixed(1)} ms each; ${answers.length} answers for the user, two took ${Math.round(slowestMs)} ms at most; ${reports[0]}`,
    );
    assert.deepEqual(new Set(answers), new Set([200]));
    assert.ok(peakMiB < mostRssMiB, `${Math.round(peakMiB)} MiB`);
  });
}
