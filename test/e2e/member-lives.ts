// Members that lose their past: one wiped and made anew behind the same address, and all of a control plane set back to
// an older revision. They share one etcd, so setting it back sets back every member, while wiping is by a member's
// prefix and keeps the revisions rising.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { accessObjects } from '../controlplane/objects.ts';
import type { ControlPlane, Member } from '../controlplane/fixture.ts';
import { eventually } from '../site/polling.ts';

/** Deletes all a member has, whose API server is down meanwhile, and gives it what every member has from the start. */
export async function wipeMember(member: Member): Promise<void> {
  const endpoint = readFileSync(`/proc/${member.pid}/cmdline`, 'utf8')
    .split('\0')
    .find((each) => each.startsWith('--etcd-servers='))!
    .slice('--etcd-servers='.length);
  await member.kill();
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const wiped = await fetch(`${endpoint}/v3/kv/deleterange`, {
    method: 'POST',
    body: JSON.stringify({ key: base64(`/${member.name}/`), range_end: base64(`/${member.name}0`) }),
  });
  assert.equal(wiped.status, 200);
  assert.ok(Number(((await wiped.json()) as { readonly deleted?: string }).deleted) > 0);
  await member.restart();
  await member.apply(...accessObjects());
}

/** The state of an etcd at one moment. */
export interface EtcdBackup {
  /** Sets every member back to it: their API servers and the etcd are killed, and another etcd has its address. */
  restore(): Promise<ChildProcess>;
}

/** Copies the data of the running etcd. */
export function backUpEtcd(plane: ControlPlane, folder: string): EtcdBackup {
  const { pid, args } = etcdProcess(plane);
  const backup = join(plane.dir, folder);
  rmSync(backup, { recursive: true, force: true });
  process.kill(pid, 'SIGSTOP');
  try {
    cpSync(join(plane.dir, 'etcd'), backup, { recursive: true });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  return {
    async restore() {
      await Promise.all(plane.members.map((member) => member.kill()));
      process.kill(pid, 'SIGKILL');
      const own = args.map((each) => (each.startsWith('--data-dir=') ? `--data-dir=${backup}` : each));
      const [command = '', ...rest] = own;
      const etcd = await eventually('another etcd has the address', async () => {
        const child = spawn(command, rest, { stdio: 'ignore', cwd: plane.dir });
        const ended = await Promise.race([
          new Promise<boolean>((resolve) => child.once('exit', () => resolve(true))),
          new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 1500)),
        ]);
        return ended ? undefined : child;
      });
      await Promise.all(plane.members.map((member) => member.restart()));
      return etcd;
    },
  };
}

/** The etcd of the control plane, with its command line. */
function etcdProcess({ dir }: ControlPlane): { readonly pid: number; readonly args: readonly string[] } {
  const wanted = `--data-dir=${join(dir, 'etcd')}`;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const args = readFileSync(`/proc/${name}/cmdline`, 'utf8')
        .split('\0')
        .filter((each) => each !== '');
      if (args.includes(wanted)) return { pid: Number(name), args };
    } catch {
      // It ended while it was looked at.
    }
  }
  throw new Error('the etcd of the control plane was not found');
}
