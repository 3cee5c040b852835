// A network namespace with a relay inside and a cable to us whose far end can be taken down: what is sent then is lost
// without a word, which no proxy can do, since its kernel acknowledges. Without a fixed neighbour entry our own kernel
// would notice and tell, as no router far away would.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

import { runCommand } from '../controlplane/processes.ts';

const here = '169.254.77.1';
const there = '169.254.77.2';

/** Why this cannot be done here; undefined when it can. */
export async function whyNoNamespace(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'network namespaces are Linux';
  if (process.getuid?.() !== 0) return 'needs root for a network namespace';
  const name = `pcl-try-${process.pid}`;
  const made = await runCommand('ip', ['netns', 'add', name]).catch((error: unknown) => ({
    code: 1,
    stderr: String(error),
  }));
  if (made.code !== 0) return `no network namespace can be made: ${made.stderr.trim()}`;
  await runCommand('ip', ['netns', 'del', name]);
  return undefined;
}

export interface FarMember {
  /** Address of the relay in the namespace. */
  readonly host: string;
  readonly port: number;
  /** Takes the far end of the cable down, or up again. */
  setLink(state: 'down' | 'up'): Promise<void>;
  stop(): Promise<void>;
}

async function ip(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await runCommand('ip', args);
  if (code !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}

/** Makes namespace, cable and relay to a port of our loopback. */
export async function startFarMember(memberPort: number): Promise<FarMember> {
  const tag = String(process.pid % 100_000);
  const [name, near, far] = [`pcl-${tag}`, `pcln${tag}`, `pclf${tag}`];
  const macs = ['02:00:00:77:00:01', '02:00:00:77:00:02'] as const;
  let relay: ChildProcess | undefined;
  // From the namespace back to the member: through the cable, to a listener on our end of it.
  const sockets = new Set<Socket>();
  const returning = createServer((front) => {
    const back = connect(memberPort, '127.0.0.1');
    for (const socket of [front, back]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => sockets.delete(socket));
    }
    front.pipe(back).pipe(front);
    front.once('close', () => back.destroy());
    back.once('close', () => front.destroy());
  });
  const stop = async (): Promise<void> => {
    relay?.kill('SIGKILL');
    for (const socket of sockets) socket.destroy();
    returning.close();
    await runCommand('ip', ['netns', 'del', name]);
    await runCommand('ip', ['link', 'del', near]);
  };
  const inside = (...args: readonly string[]): Promise<void> => ip('-n', name, ...args);
  const wire = async (): Promise<void> => {
    await inside('link', 'set', far, 'up');
    await inside('neigh', 'replace', here, 'lladdr', macs[0], 'dev', far, 'nud', 'permanent');
  };
  try {
    await ip('netns', 'add', name);
    await ip(
      'link',
      'add',
      near,
      'address',
      macs[0],
      'type',
      'veth',
      'peer',
      'name',
      far,
      'address',
      macs[1],
      'netns',
      name,
    );
    await ip('addr', 'add', `${here}/30`, 'dev', near);
    await ip('link', 'set', near, 'up');
    await inside('addr', 'add', `${there}/30`, 'dev', far);
    await inside('link', 'set', 'lo', 'up');
    await wire();
    await ip('neigh', 'replace', there, 'lladdr', macs[1], 'dev', near, 'nud', 'permanent');
    await new Promise<void>((resolve, reject) => {
      returning.once('error', reject);
      returning.listen(0, here, resolve);
    });
    const { port: returnPort } = returning.address() as AddressInfo;
    const program = `
      const net = require('node:net');
      const server = net.createServer((front) => {
        const back = net.connect(${returnPort}, '${here}');
        for (const socket of [front, back]) socket.on('error', () => undefined);
        front.pipe(back).pipe(front);
        front.once('close', () => back.destroy());
        back.once('close', () => front.destroy());
      });
      server.listen(0, '${there}', () => process.stdout.write(server.address().port + '\\n'));`;
    relay = spawn('ip', ['netns', 'exec', name, process.execPath, '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(relay.stdout!, 'data')) as [Buffer];
    return {
      host: there,
      port: Number(line.toString()),
      async setLink(state) {
        if (state === 'up') await wire();
        else await inside('link', 'set', far, 'down');
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
