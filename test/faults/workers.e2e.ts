// What happens when one of two workers hangs: its process is stopped, as one whose event loop never comes back.
// Runs alone: a worker counts as hanging after half a minute of silence.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { startMember } from '../site/member.ts';
import type { Member } from '../site/member.ts';
import { eventually } from '../site/polling.ts';
import { openRaw, requestBytes } from '../site/raw-client.ts';
import type { RawClient } from '../site/raw-client.ts';
import { kubeconfigText } from '../site/site.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const folder = tempDir('workers-hang');
let member: Member;
let gateway: GatewayProcess;

before(async () => {
  member = await startMember(await makeTestAuthority());
  const kubeconfig = join(folder, 'kubeconfig.yaml');
  const server = `https://127.0.0.1:${member.port}`;
  writeFileSync(kubeconfig, kubeconfigText([{ name: 'm1', server, ca: member.ca, token: 'credential' }]));
  const users = [{ token: 'alice-token', name: 'alice' }];
  gateway = await startGatewayProcess({ kubeconfigs: [kubeconfig], users, args: ['--workers', '2'] });
});
after(async () => {
  await gateway.stop('SIGKILL');
  member.close();
});

const open = (): Promise<RawClient> => openRaw({ port: gateway.port, ca: gateway.caPem });

async function statusOf(client: RawClient): Promise<number> {
  client.send(requestBytes('GET /clusters/m1/proxy/api/v1/pods', ['Authorization: Bearer alice-token']));
  return (await client.answer()).status;
}

/** Process of each worker that serves now, by its slot. */
function pids(): readonly number[] {
  const found = [...gateway.log().matchAll(/"worker":(\d+),"workerPid":(\d+),"msg":"a worker serves"/g)];
  return Object.values(Object.fromEntries(found.map(([, slot, pid]) => [slot, Number(pid)])));
}

async function connectionsOf(worker: number): Promise<number> {
  const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
  return Number(new RegExp(`^portcullis_worker_connections\\{worker="${worker}"\\} (\\d+)$`, 'm').exec(text)![1]);
}

test('a worker that hangs gets no more connections and is replaced; the other serves all the while', async () => {
  const client = await open();
  const working = (await connectionsOf(0)) === 1 ? 0 : 1;
  const hanging = pids()[1 - working]!;
  process.kill(hanging, 'SIGSTOP');
  assert.equal(await statusOf(client), 200);
  const isReplaced = (): boolean => !pids().includes(hanging);
  await eventually(
    'connections go past it',
    async () => {
      const fresh = await Promise.race([open().catch(() => undefined), delay(1_000)]);
      const status = fresh && (await statusOf(fresh));
      fresh?.close();
      return status === 200 && !isReplaced();
    },
    { timeoutMs: 25_000 },
  );
  await eventually('another takes its place', () => Promise.resolve(isReplaced()), { timeoutMs: 60_000 });
  assert.equal(await statusOf(client), 200);
  assert.equal(await gateway.stop('SIGTERM'), 0);
});
